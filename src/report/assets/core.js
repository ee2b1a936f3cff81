// The data, and small helpers. All text goes into the page as text, never as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const items = data.items;
const times = data.times;
const itemCount = items.queue.length;

/** An element with properties and children; `class`, `role` and names with a dash become attributes. */
function el(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props || {})) {
    if (value === undefined || value === null) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "class" || key === "role" || key.includes("-")) node.setAttribute(key, value);
    else if (key === "style") node.style.cssText = value;
    else node[key] = value;
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const number = new Intl.NumberFormat("en-US");
const count = (value) => number.format(value);
const plural = (n, one, many) => `${count(n)} ${n === 1 ? one : many || one + "s"}`;
const hex = (value) => "0x" + value.toString(16);

/** Picoseconds as text. */
function time(ps) {
  const ns = ps / 1000;
  if (ns >= 10000) return `${(ns / 1000).toFixed(ns >= 1e6 ? 0 : 2)} µs`;
  return `${ns.toFixed(ns < 100 ? 2 : 1)} ns`;
}

/** A name for an item, such as `dve[3]`. */
const itemName = (item) => `${items.queues[items.queue[item]]}[${items.index[item]}]`;
const string = (id) => items.strings[id] || "";

/** A page-wide choice of one item; those who show items are told of it. */
const selection = { item: -1, listeners: [] };
function select(item, origin) {
  selection.item = item;
  for (const listener of selection.listeners) listener(item, origin);
}

/** A choice of a source line; the source and its remarks show it. */
const goTo = { line: () => {}, item: () => {} };

/** Calls a function once at the next frame, however often it is asked for. */
function frame(work) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      work();
    });
  };
}

/** Terms of a search: all must occur. */
function terms(text) {
  return text.toLowerCase().split(/\s+/).filter((term) => term);
}
const holds = (text, wanted) => wanted.every((term) => text.includes(term));

/** A text with what a search found marked. */
function marked(text, wanted) {
  if (!wanted.length) return [text];
  const low = text.toLowerCase();
  const out = [];
  let at = 0;
  while (at < text.length) {
    let next = -1;
    let size = 0;
    for (const term of wanted) {
      const found = low.indexOf(term, at);
      if (found >= 0 && (next < 0 || found < next)) [next, size] = [found, term.length];
    }
    if (next < 0) break;
    out.push(text.slice(at, next), el("mark", {}, text.slice(next, next + size)));
    at = next + size;
  }
  out.push(text.slice(at));
  return out;
}

/** A field for searching. */
function searchField(label, changed) {
  return el("input", { type: "search", placeholder: label, "aria-label": label, spellcheck: false, oninput: (event) => changed(event.target.value) });
}

/** A box to tick. */
function tick(label, checked, changed) {
  return el("label", {}, el("input", { type: "checkbox", checked, onchange: (event) => changed(event.target.checked) }), label);
}

// The tip that follows the pointer.
const tip = document.getElementById("tip");
function showTip(x, y, ...content) {
  tip.replaceChildren(...content);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = x + 16 + box.width > innerWidth ? x - box.width - 12 : x + 16;
  const top = y + 16 + box.height > innerHeight ? y - box.height - 12 : y + 16;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${Math.max(4, top)}px`;
}
function hideTip() {
  tip.hidden = true;
}

/** What a tip says of an item. */
function itemTip(item) {
  const lines = [el("b", {}, `${itemName(item)} ${string(items.name[item])}`)];
  if (times) {
    const span = `${time(times.start[item])} to ${time(times.end[item])}`;
    lines.push(el("div", {}, `${span} (${time(times.end[item] - times.start[item])})`, amount(item) ? `, ${amount(item)}` : ""));
    lines.push(el("div", {}, times.reason[item]));
  }
  const source = string(items.source[item]);
  if (source) lines.push(el("div", {}, `for %${source}`, items.line[item] ? `, line ${items.line[item]}` : ""));
  lines.push(el("div", { class: "mono" }, items.text[item]));
  return lines;
}

/** Cycles of a word, bytes of a transfer. */
function amount(item) {
  const value = items.amount[item];
  if (value === null) return "";
  return items.hex[item] ? plural(value, "cycle") : plural(value, "byte");
}

const style = () => getComputedStyle(document.documentElement);
const colors = {};
function readColors() {
  const now = style();
  for (const name of ["paper", "panel", "ink", "faint", "line", "accent", "picked", "q0", "q1", "q2", "q3", "q4", "q5", "dma", "signal", "critical", "mark"]) {
    colors[name] = now.getPropertyValue(`--${name}`).trim();
  }
}
readColors();

/** The colour of a queue: engines have their own, transfers share one. */
const engineColors = { dve: "q0", pool: "q1", act: "q2", pe: "q3", sp: "q4", top_sp: "q5" };
const queueColor = (queue) => colors[engineColors[items.queues[queue]] || "dma"];
