// Passes, and what each changed, side by side.
function passesSection() {
  if (!data.passes.length) return null;
  const CONTEXT = 3;
  const texts = data.texts.map((text) => text.split("\n").slice(0, -1));
  const lows = data.texts.map((text) => text.toLowerCase());
  const changed = (pass) => pass.before !== pass.after;
  let current = data.passes.findIndex(changed);
  let showAll = false;
  let whole = false;
  let opened = new Set();
  let wanted = [];
  let lines = [];

  const list = el("ul", { class: "passes" });
  const title = el("div", { class: "sides" });
  const rows = new Rows({ height: 19, label: "The program before and after the pass", row: (index) => diffRow(lines[index]) });
  rows.box.classList.add("diff");
  rows.box.style.setProperty("--tall", "520px");
  const filler = el("div");
  const sideways = el("div", { class: "sideways", onscroll: () => rows.box.style.setProperty("--x", sideways.scrollLeft) }, filler);
  rows.box.addEventListener("wheel", (event) => {
    const move = event.shiftKey ? event.deltaY : event.deltaX;
    if (!move) return;
    sideways.scrollLeft += move;
    event.preventDefault();
  });
  rows.box.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -80, ArrowRight: 80 }[event.key];
    if (!step) return;
    sideways.scrollLeft += step;
    event.preventDefault();
  });
  const found = el("span", { class: "count", role: "status" });
  const search = searchField("Search passes and their text", (text) => {
    wanted = terms(text);
    drawList();
    drawDiff();
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") nextMatch();
  });

  function fits(pass) {
    return !wanted.length || holds(pass.name.toLowerCase(), wanted) || wanted.every((term) => lows[pass.before].includes(term) || lows[pass.after].includes(term));
  }

  function drawList() {
    const shown = [];
    data.passes.forEach((pass, index) => {
      if ((!showAll && !changed(pass)) || !fits(pass)) return;
      const counts = changed(pass)
        ? [el("span", { class: "plus" }, `+${pass.added}`), " ", el("span", { class: "minus" }, `−${pass.removed}`)]
        : ["unchanged"];
      shown.push(el("li", {}, el("button", {
        "aria-current": String(index === current),
        onclick: () => {
          current = index;
          opened = new Set();
          rows.box.scrollTop = 0;
          drawList();
          drawDiff();
        },
      }, el("b", {}, `${index + 1}. ${pass.name}`), el("span", { class: "counts" }, ...counts), el("small", {}, pass.summary))));
    });
    list.replaceChildren(...(shown.length ? shown : [el("li", { class: "empty" }, "No pass fits.")]));
  }

  /** The rows of a pass: pairs of line numbers, or a fold. */
  function rowsOf(pass) {
    const out = [];
    const stretches = changed(pass) ? pass.hunks : [[1, 0, texts[pass.before].length, 0, texts[pass.after].length]];
    stretches.forEach(([equal, before, beforeCount, after, afterCount], place) => {
      if (!equal) {
        for (let at = 0; at < Math.max(beforeCount, afterCount); at += 1) {
          out.push({ before: at < beforeCount ? before + at : -1, after: at < afterCount ? after + at : -1, equal: false });
        }
        return;
      }
      const head = place === 0 ? 0 : CONTEXT;
      const tail = place === stretches.length - 1 ? 0 : CONTEXT;
      const hidden = beforeCount - head - tail;
      const folded = changed(pass) && !whole && !opened.has(place) && hidden > 1;
      for (let at = 0; at < beforeCount; at += 1) {
        if (folded && at === head) {
          out.push({ fold: place, hidden });
          at += hidden - 1;
        } else out.push({ before: before + at, after: after + at, equal: true });
      }
    });
    return out;
  }

  function drawDiff() {
    const pass = data.passes[current];
    if (!pass) return;
    lines = rowsOf(pass);
    const size = (text) => texts[text].reduce((most, line) => Math.max(most, line.length), 0);
    filler.style.width = `${Math.max(size(pass.before), size(pass.after)) * 7.4 + 80 + rows.box.clientWidth / 2}px`;
    title.replaceChildren(el("span", {}, "before"), el("span", {}, `after ${pass.name}`));
    rows.set(lines.length);
    if (wanted.length) {
      const hits = lines.filter((line) => matches(line)).length;
      found.textContent = plural(hits, "line") + " here; Enter goes to the next";
    } else found.textContent = "";
  }

  const textOf = (side, line) => {
    const pass = data.passes[current];
    return line < 0 ? "" : texts[side === "del" ? pass.before : pass.after][line];
  };
  function matches(line) {
    if (line.fold !== undefined) return false;
    return holds(textOf("del", line.before).toLowerCase(), wanted) || holds(textOf("add", line.after).toLowerCase(), wanted);
  }
  function nextMatch() {
    if (!wanted.length) return;
    const top = Math.ceil((rows.box.scrollTop + rows.box.clientHeight / 2) / rows.height);
    const ahead = lines.findIndex((line, index) => index > top && matches(line));
    const to = ahead >= 0 ? ahead : lines.findIndex(matches);
    if (to < 0) return;
    rows.box.scrollTop = Math.max(0, to * rows.height - rows.box.clientHeight / 2);
  }

  /** What both lines begin and end with is not marked. */
  function parts(mine, other) {
    let head = 0;
    const least = Math.min(mine.length, other.length);
    while (head < least && mine[head] === other[head]) head += 1;
    let tail = 0;
    while (tail < least - head && mine[mine.length - 1 - tail] === other[other.length - 1 - tail]) tail += 1;
    return head + tail < least / 4 ? null : [mine.slice(0, head), mine.slice(head, mine.length - tail), mine.slice(mine.length - tail)];
  }

  function side(kind, line, row) {
    if (line < 0) return el("div", { class: "side none" });
    const text = textOf(kind, line);
    let content = marked(text, wanted);
    if (!row.equal && !wanted.length && row.before >= 0 && row.after >= 0) {
      const split = parts(text, kind === "del" ? textOf("add", row.after) : textOf("del", row.before));
      if (split) content = [split[0], el("em", {}, split[1]), split[2]];
    }
    return el("div", { class: row.equal ? "side" : `side ${kind}` }, el("span", { class: "num" }, String(line + 1)), el("span", { class: "text" }, el("span", {}, ...content)));
  }

  function diffRow(row) {
    if (row.fold !== undefined) {
      return el("button", {
        class: "fold",
        onclick: () => {
          opened.add(row.fold);
          drawDiff();
        },
      }, `${plural(row.hidden, "line")} the same, show`);
    }
    return el("div", { onclick: () => reveal(row) }, side("del", row.before, row), side("add", row.after, row));
  }

  /** Moves long lines so that the first difference of two is in sight. */
  function reveal(row) {
    if (row.equal || row.before < 0 || row.after < 0) return;
    const [old, now] = [textOf("del", row.before), textOf("add", row.after)];
    let head = 0;
    while (head < Math.min(old.length, now.length) && old[head] === now[head]) head += 1;
    sideways.scrollLeft = Math.max(0, head - 12) * 7.2;
  }

  const section = el("section", { id: "passes" },
    el("h2", {}, "Passes"),
    el("p", {}, "Each pass turns the program into the next one. A click on a changed line brings its change into sight; arrow keys, or Shift with the wheel, move long lines sideways."),
    el("div", { class: "bar" }, search,
      tick("unchanged passes", showAll, (on) => { showAll = on; drawList(); }),
      tick("whole text", whole, (on) => { whole = on; drawDiff(); }), found),
    el("div", { class: "split narrow" }, el("div", { class: "panel" }, list), el("div", { class: "panel" }, title, rows.box, sideways)));
  drawList();
  return { title: "Passes", note: count(data.passes.length), section, ready: drawDiff };
}
