// Lists and tables of any length: only the rows in sight exist.

/** Rows of one height. `row(index)` makes the element of one. */
class Rows {
  constructor({ height, label, row, role }) {
    this.height = height;
    this.row = row;
    this.count = 0;
    this.head = 0;
    this.space = el("div", { class: "space" });
    this.box = el("div", { class: "rows", tabIndex: 0, role: role || "list", "aria-label": label }, this.space);
    this.box.style.setProperty("--row", `${height}px`);
    this.draw = frame(() => this.redraw());
    this.box.addEventListener("scroll", this.draw);
    new ResizeObserver(this.draw).observe(this.box);
  }

  /** States how many rows there are, and draws them anew. */
  set(count) {
    this.count = count;
    this.space.style.height = `${count * this.height}px`;
    this.redraw();
  }

  redraw() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / this.height) - 4);
    const last = Math.min(this.count, Math.ceil((this.box.scrollTop + this.box.clientHeight) / this.height) + 4);
    const rows = [];
    for (let index = first; index < last; index += 1) {
      const row = this.row(index);
      row.classList.add("row");
      row.style.top = `${index * this.height}px`;
      rows.push(row);
    }
    this.space.replaceChildren(...rows);
  }

  /** Scrolls so that a row is in sight. */
  show(index) {
    const top = index * this.height;
    const { scrollTop, clientHeight } = this.box;
    if (top < scrollTop || this.head + top + this.height > scrollTop + clientHeight) {
      this.box.scrollTop = Math.max(0, top - clientHeight / 2);
    }
    this.redraw();
  }
}

/** A table that is sorted by its heads and moved through by keys. A column has `title`, `width`, `value(i)`, and
    perhaps `sort(i)` and `n` for numbers; narrower than `width` the table scrolls sideways. */
class Table {
  constructor({ label, columns, pick, tall, width }) {
    this.columns = columns;
    this.pick = pick;
    this.order = [];
    this.wanted = [];
    this.picked = -1;
    this.sorted = null;
    this.template = columns.map((column) => column.width).join(" ");
    const shape = `grid-template-columns: ${this.template}; min-width: ${width}px`;
    this.heads = el("div", { class: "heads", style: shape });
    columns.forEach((column) => {
      const head = el("button", { class: column.n ? "n" : "", title: `Sort by ${column.title}`, onclick: () => this.sortBy(column) }, column.title);
      column.head = head;
      this.heads.append(head);
    });
    this.rows = new Rows({ height: 24, label, role: "grid", row: (index) => this.make(index) });
    if (tall) this.rows.box.style.setProperty("--tall", tall);
    this.rows.box.addEventListener("keydown", (event) => this.key(event));
    this.rows.space.style.minWidth = `${width}px`;
    this.rows.head = 29;
    this.rows.box.prepend(this.heads);
    this.box = el("div", { class: "panel grid" }, this.rows.box);
  }

  make(index) {
    const id = this.order[index];
    const cells = this.columns.map((column) =>
      el("span", { class: column.n ? "n" : "", role: "gridcell" }, ...marked(String(column.value(id)), column.n ? [] : this.wanted)),
    );
    return el("div", {
      class: id === this.picked ? "picked" : "", role: "row", "aria-rowindex": index + 1, "aria-selected": id === this.picked,
      style: `grid-template-columns: ${this.template}`, onclick: () => this.choose(id),
    }, ...cells);
  }

  choose(id) {
    this.picked = id;
    this.rows.redraw();
    this.pick(id);
  }

  /** Shows these, in the order of the chosen column. */
  set(ids, wanted) {
    this.wanted = wanted || [];
    this.ids = ids;
    this.order = ids;
    if (this.sorted) {
      const { column, down } = this.sorted;
      const key = column.sort || column.value;
      const sign = down ? -1 : 1;
      this.order = [...ids].sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        return (x < y ? -sign : x > y ? sign : 0) || a - b;
      });
    }
    this.rows.box.setAttribute("aria-rowcount", this.order.length);
    this.rows.set(this.order.length);
    if (!this.order.length) this.rows.space.replaceChildren(el("div", { class: "empty" }, "Nothing fits."));
  }

  sortBy(column) {
    const down = this.sorted && this.sorted.column === column ? !this.sorted.down : false;
    this.sorted = { column, down };
    for (const other of this.columns) {
      other.head.textContent = other.title + (other === column ? (down ? " ↓" : " ↑") : "");
    }
    this.set(this.ids, this.wanted);
  }

  /** Brings a row into sight and marks it. */
  mark(id) {
    this.picked = id;
    const index = this.order.indexOf(id);
    if (index >= 0) this.rows.show(index);
    else this.rows.redraw();
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.rows.box.clientHeight / this.rows.height) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const step = steps[event.key];
    if (step === undefined || !this.order.length) return;
    event.preventDefault();
    const now = this.order.indexOf(this.picked);
    const to = Math.min(this.order.length - 1, Math.max(0, (now < 0 ? -Math.sign(step) : now) + step));
    this.rows.show(to);
    this.choose(this.order[to]);
  }
}
