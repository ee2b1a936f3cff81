// Charts over time: a canvas with a view that is moved and zoomed.

/** A stretch of an axis; charts that share one move together. */
class Axis {
  constructor(end) {
    this.end = Math.max(1, end);
    this.from = 0;
    this.to = this.end;
    this.listeners = [];
  }

  set(from, to) {
    const least = this.end / 1e6;
    const width = Math.min(this.end, Math.max(least, to - from));
    this.from = Math.min(Math.max(0, from), this.end - width);
    this.to = this.from + width;
    for (const listener of this.listeners) listener();
  }

  zoom(by, at) {
    this.set(at - (at - this.from) / by, at + (this.to - at) / by);
  }

  /** Makes sure that a stretch is in sight. */
  reveal(from, to) {
    if (from >= this.from && to <= this.to) return;
    const width = Math.max(this.to - this.from, (to - from) * 3);
    this.set((from + to) / 2 - width / 2, (from + to) / 2 + width / 2);
  }
}

/** A canvas that draws a stretch of an axis. `paint(g, chart)` draws, `hit(x, y)` finds an item, `left` is the room
    for names. */
class Chart {
  constructor({ label, height, left, axis, paint, hit, tip: say, step, format }) {
    Object.assign(this, { axis, paint, hit, left, format });
    this.canvas = el("canvas", { tabIndex: 0, role: "application", "aria-label": `${label}: arrow keys move, plus and minus zoom, 0 shows all${step ? ", comma and full stop go through the items" : ""}` });
    this.box = el("div", { class: "panel chart" }, this.canvas);
    this.setHeight(height);
    this.draw = frame(() => this.redraw());
    this.follow(axis);
    new ResizeObserver(this.draw).observe(this.box);
    const canvas = this.canvas;
    let from = null;
    canvas.addEventListener("pointerdown", (event) => {
      from = { x: event.offsetX, from: this.axis.from, to: this.axis.to, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (from && Math.abs(event.offsetX - from.x) > 3) from.moved = true;
      if (from && from.moved) {
        const by = ((event.offsetX - from.x) / this.width) * (from.to - from.from);
        this.axis.set(from.from - by, from.to - by);
        hideTip();
        return;
      }
      const item = hit(event.offsetX, event.offsetY);
      this.over = item;
      canvas.style.cursor = item >= 0 ? "pointer" : "grab";
      if (item >= 0) showTip(event.clientX, event.clientY, ...say(item));
      else hideTip();
      this.draw();
    });
    canvas.addEventListener("pointerup", (event) => {
      if (from && !from.moved) {
        const item = hit(event.offsetX, event.offsetY);
        if (item >= 0) this.pick(item);
      }
      from = null;
    });
    canvas.addEventListener("pointerleave", () => { this.over = -1; hideTip(); this.draw(); });
    canvas.addEventListener("wheel", (event) => {
      const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
      if (!sideways && !event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
      event.preventDefault();
      if (sideways) this.shift((event.shiftKey ? event.deltaY : event.deltaX) / this.width);
      else this.axis.zoom(Math.exp(-event.deltaY / 300), this.at(event.offsetX));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const middle = (this.axis.from + this.axis.to) / 2;
      const keys = {
        ArrowLeft: () => this.shift(-0.15), ArrowRight: () => this.shift(0.15), "+": () => this.axis.zoom(1.5, middle), "=": () => this.axis.zoom(1.5, middle),
        "-": () => this.axis.zoom(1 / 1.5, middle), 0: () => this.axis.set(0, this.axis.end),
        ",": () => step && step(-1), ".": () => step && step(1),
      };
      if (!keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });
    this.over = -1;
  }

  follow(axis) {
    this.axis = axis;
    if (!axis.listeners.includes(this.draw)) axis.listeners.push(this.draw);
  }

  setHeight(height) {
    this.height = height;
    this.canvas.style.height = `${height}px`;
  }

  pick() {}

  shift(part) {
    const by = part * (this.axis.to - this.axis.from);
    this.axis.set(this.axis.from + by, this.axis.to + by);
  }

  get width() {
    return Math.max(1, this.canvas.clientWidth - this.left);
  }
  x(at) {
    return this.left + ((at - this.axis.from) / (this.axis.to - this.axis.from)) * this.width;
  }
  at(x) {
    return this.axis.from + ((x - this.left) / this.width) * (this.axis.to - this.axis.from);
  }

  redraw() {
    const ratio = devicePixelRatio || 1;
    const [width, height] = [this.canvas.clientWidth, this.height];
    if (!width) return;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    const g = this.canvas.getContext("2d");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.fillStyle = colors.paper;
    g.fillRect(0, 0, width, height);
    g.font = "11.5px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
    g.textBaseline = "middle";
    this.ticks(g);
    this.paint(g, this);
  }

  /** Marks of the axis along the top. */
  ticks(g) {
    const width = this.axis.to - this.axis.from;
    const rough = width / Math.max(2, this.width / 110);
    const power = 10 ** Math.floor(Math.log10(rough));
    const by = [1, 2, 5, 10].map((n) => n * power).find((step) => step >= rough);
    g.strokeStyle = colors.line;
    g.fillStyle = colors.faint;
    g.lineWidth = 1;
    g.textAlign = "left";
    for (let at = Math.ceil(this.axis.from / by) * by; at <= this.axis.to; at += by) {
      const x = Math.round(this.x(at)) + 0.5;
      g.beginPath();
      g.moveTo(x, 0);
      g.lineTo(x, this.height);
      g.stroke();
      g.fillText(this.format(at, by), x + 3, 9);
    }
  }
}

/** A time on an axis, as precise as the marks are near. */
function timeMark(at, by) {
  const long = by >= 1e6;
  const scale = long ? 1e6 : 1e3;
  const digits = Math.max(0, -Math.floor(Math.log10(by / scale)));
  return `${(at / scale).toFixed(digits)} ${long ? "µs" : "ns"}`;
}
const stepMark = (at) => `item ${Math.round(at)}`;

const zoomButtons = (axis) => [
  el("button", { "aria-label": "Zoom out", title: "Zoom out", onclick: () => axis().zoom(1 / 1.5, (axis().from + axis().to) / 2) }, "−"),
  el("button", { "aria-label": "Zoom in", title: "Zoom in", onclick: () => axis().zoom(1.5, (axis().from + axis().to) / 2) }, "+"),
  el("button", { onclick: () => axis().set(0, axis().end) }, "Fit"),
];

const timeAxis = new Axis(times ? times.makespan : 1);
const stepAxis = new Axis(itemCount);
