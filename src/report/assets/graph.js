// Graphs: the tensor program between passes, and the words.
function graphSection() {
  if (!data.pictures.length) return null;
  const SVG = "http://www.w3.org/2000/svg";
  const HALF = 20;
  let current = 0;
  let view = { x: 0, y: 0, scale: 1 };
  let drawn = [];
  const box = el("div", { class: "panel picture", tabIndex: 0, role: "application", "aria-label": "Graph: arrow keys move it, plus and minus change its size, 0 shows all" });
  const tabs = el("div", { class: "bar", role: "group", "aria-label": "Graphs" });
  let world = null;
  const kinds = [["argument", "argument"], ["elementwise", "element by element"], ["fold", "reduction or scan"], ["movement", "movement of data"], ["constant", "constant"], ["result", "result"], ["word", "word"], ["transfer", "transfer"]];
  const legend = el("div", { class: "legend" });

  function svg(tag, attributes, ...children) {
    const node = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  }

  function place() {
    if (world) world.setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.scale})`);
  }
  /** Shows all of the graph, or as much from its head as can be read. */
  function fit(least = 0) {
    const picture = data.pictures[current];
    const { clientWidth: width, clientHeight: height } = box;
    const scale = Math.min(1.1, (width - 30) / Math.max(1, picture.width), (height - 30) / Math.max(1, picture.height));
    view = { scale: Math.max(scale, least), x: 15, y: 15 };
    if (scale >= least) {
      view.x = (width - picture.width * scale) / 2;
      view.y = (height - picture.height * scale) / 2;
    }
    place();
  }
  function zoom(by, x, y) {
    const scale = Math.min(3, Math.max(0.05, view.scale * by));
    view.x = x - ((x - view.x) * scale) / view.scale;
    view.y = y - ((y - view.y) * scale) / view.scale;
    view.scale = scale;
    place();
  }

  /** An arrow through its points, as a smooth line from foot to head. */
  function route(points) {
    const p = [];
    for (let at = 0; at < points.length; at += 2) p.push([points[at], points[at + 1]]);
    p[0] = [p[0][0], p[0][1] + HALF];
    p[p.length - 1] = [p[p.length - 1][0], p[p.length - 1][1] - HALF - 3];
    let path = `M${p[0][0]} ${p[0][1]}`;
    for (let at = 1; at < p.length; at += 1) {
      const [x0, y0] = p[at - 1];
      const [x1, y1] = p[at];
      const middle = (y0 + y1) / 2;
      path += ` C${x0} ${middle} ${x1} ${middle} ${x1} ${y1}`;
    }
    return path;
  }

  function draw() {
    const picture = data.pictures[current];
    tabs.replaceChildren(...data.pictures.map((other, at) => el("button", {
      "aria-pressed": String(at === current),
      onclick: () => { current = at; draw(); },
    }, other.title)), el("span", { class: "grow" }),
    ...[["−", "Smaller", 1 / 1.25], ["+", "Larger", 1.25]].map(([sign, label, by]) => el("button", { "aria-label": label, title: label, onclick: () => zoom(by, box.clientWidth / 2, box.clientHeight / 2) }, sign)),
    el("button", { onclick: () => fit() }, "Fit"));
    drawn = [];
    if (picture.too_many) {
      world = null;
      box.replaceChildren(el("div", { class: "empty" }, `${plural(picture.too_many, "node")} are too many for a picture; “partita opt --dot” writes the graph for other tools, and each word below lists what it must follow.`));
      return;
    }
    world = svg("g", {});
    const paths = picture.edges.map(([from, to, label, points]) => {
      const path = svg("path", { d: route(points), "marker-end": "url(#head)" });
      if (label) path.append(svg("title", {}, label));
      world.append(path);
      return { from, to, path };
    });
    picture.nodes.forEach((node, at) => {
      const label = svg("text", { y: node.note ? -2 : 4 }, node.label);
      const parts = [svg("rect", { x: -node.width / 2, y: -HALF, width: node.width, height: 2 * HALF, rx: node.kind === "argument" || node.kind === "result" ? HALF : 5, fill: `var(--k-${node.kind})` }), label];
      if (node.note) parts.push(svg("text", { class: "note", y: 13 }, node.note));
      const queue = items.queues.indexOf(node.queue);
      if (queue >= 0) parts.push(svg("rect", { x: -node.width / 2, y: -HALF, width: 4, height: 2 * HALF, stroke: "none", fill: `var(--${engineColors[node.queue] || "dma"})` }));
      const group = svg("g", { class: "node", tabindex: 0, role: "button", "aria-label": `${node.label} ${node.note}`, transform: `translate(${node.x} ${node.y})` }, ...parts);
      const light = (on) => paths.forEach(({ from, to, path }) => { if (from === at || to === at) path.classList.toggle("near", on); });
      const say = (x, y) => (picture.items ? showTip(x, y, ...itemTip(at)) : showTip(x, y, el("b", {}, node.text), el("div", {}, [node.note, node.line ? `line ${node.line}` : ""].filter(Boolean).join(", "))));
      group.addEventListener("pointerenter", (event) => { light(true); say(event.clientX, event.clientY); });
      group.addEventListener("pointerleave", () => { light(false); hideTip(); });
      group.addEventListener("focus", () => { light(true); });
      group.addEventListener("blur", () => { light(false); });
      const open = () => {
        if (picture.items) select(at, "graph");
        else if (node.line) goTo.line(node.line);
      };
      group.addEventListener("click", () => { if (!dragged) open(); });
      group.addEventListener("keydown", (event) => { if (event.key === "Enter") open(); });
      drawn.push(group);
      world.append(group);
    });
    const head = svg("marker", { id: "head", viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { d: "M0 0L8 4L0 8z", style: "fill: var(--faint); stroke: none; opacity: 1" }));
    box.replaceChildren(svg("svg", { role: "presentation" }, svg("defs", {}, head), world));
    fit(0.6);
    const shown = new Set(picture.nodes.map((node) => node.kind));
    legend.replaceChildren(...kinds.filter(([kind]) => shown.has(kind)).map(([kind, label]) => el("span", {}, el("i", { style: `background: var(--k-${kind})` }), label)));
    pickNode(selection.item);
  }

  let dragged = false;
  let from = null;
  box.addEventListener("pointerdown", (event) => { from = { x: event.clientX, y: event.clientY, view: { ...view } }; dragged = false; });
  addEventListener("pointermove", (event) => {
    if (!from) return;
    const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
    if (Math.abs(dx) + Math.abs(dy) > 4) dragged = true;
    view.x = from.view.x + dx;
    view.y = from.view.y + dy;
    place();
  });
  addEventListener("pointerup", () => { from = null; });
  box.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== box && !box.contains(document.activeElement)) return;
    event.preventDefault();
    const at = box.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY / 400), event.clientX - at.left, event.clientY - at.top);
  }, { passive: false });
  box.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
    if (moves[event.key]) { view.x += moves[event.key][0]; view.y += moves[event.key][1]; place(); }
    else if (event.key === "+" || event.key === "=") zoom(1.25, box.clientWidth / 2, box.clientHeight / 2);
    else if (event.key === "-") zoom(0.8, box.clientWidth / 2, box.clientHeight / 2);
    else if (event.key === "0") fit();
    else return;
    event.preventDefault();
  });

  function pickNode(item) {
    const on = data.pictures[current].items;
    drawn.forEach((group, at) => group.classList.toggle("picked", on && at === item));
  }
  selection.listeners.push(pickNode);
  const section = el("section", { id: "graph" },
    el("h2", {}, "Graphs"),
    el("p", {}, "The tensor program between passes, and the words with the earlier ones whose bytes they touch. Choose an operation to see its line, a word to see its fields. Drag to move, wheel with Ctrl to zoom."),
    tabs, box, legend);
  return { title: "Graphs", note: count(data.pictures.length), section, ready: draw };
}
