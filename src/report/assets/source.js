// The source with its remarks.
function sourceSection() {
  if (!data.source) return null;
  const PAGE = 100;
  const lines = data.source.split("\n").slice(0, -1);
  const byLine = new Map();
  data.remarks.forEach((remark, index) => {
    if (!remark.line) return;
    if (!byLine.has(remark.line)) byLine.set(remark.line, []);
    byLine.get(remark.line).push(index);
  });
  const lows = data.remarks.map((r) => `${r.kind} ${r.pass}/${r.rule} ${r.value} ${r.op} ${r.message} ${r.forbidden_by || ""}`.toLowerCase());
  const kinds = { passed: true, missed: true, analysis: true };
  let line = 0;
  let wanted = [];
  let shown = PAGE;

  const rows = new Rows({ height: 20, label: "Source", row: (index) => sourceRow(index + 1) });
  rows.box.classList.add("source");
  rows.box.style.setProperty("--tall", "440px");
  const list = el("ul", { class: "remarks" });
  const found = el("span", { class: "count", role: "status" });
  const all = el("button", { hidden: true, onclick: () => pickLine(0) }, "All lines");

  function sourceRow(at) {
    const mine = byLine.get(at) || [];
    const seen = [...new Set(mine.map((index) => data.remarks[index].kind))];
    const row = el("div", { class: `${mine.length ? "has" : ""} ${at === line ? "picked" : ""}` },
      el("span", { class: "num" }, String(at)),
      el("span", { class: "dots", title: mine.length ? plural(mine.length, "remark") : "" }, ...seen.map((kind) => el("i", { class: `dot ${kind}` })), mine.length > 1 ? String(mine.length) : ""),
      el("span", {}, lines[at - 1]));
    if (mine.length) row.addEventListener("click", () => pickLine(at === line ? 0 : at));
    return row;
  }

  function pickLine(at) {
    line = at;
    shown = PAGE;
    if (at) rows.show(at - 1);
    rows.redraw();
    draw();
  }
  rows.box.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !byLine.size) return;
    event.preventDefault();
    const places = [...byLine.keys()].sort((a, b) => a - b);
    const next = step > 0 ? places.find((place) => place > line) : places.reverse().find((place) => place < (line || Infinity));
    if (next) pickLine(next);
  });

  const ns = (cost) => `${(cost / 1000).toFixed(1)} ns`;
  function remark(index) {
    const r = data.remarks[index];
    const costs = r.cost_before !== null && r.cost_after !== null ? `${ns(r.cost_before)} → ${ns(r.cost_after)}` : null;
    return el("li", {}, el("div", { class: "head" },
      el("i", { class: `dot ${r.kind}` }), el("span", {}, r.kind), el("b", {}, `${r.pass}/${r.rule}`),
      r.value ? el("code", {}, r.value) : null,
      r.line ? el("button", { class: "link", onclick: () => pickLine(r.line) }, `line ${r.line}`) : null,
      r.class ? el("span", { class: "tag" }, r.class) : null,
      costs ? el("span", { class: "tag" }, costs) : null,
      r.forbidden_by ? el("span", { class: "tag warn" }, `forbidden by ${r.forbidden_by}`) : null),
    el("p", {}, ...marked(r.message, wanted)));
  }

  function draw() {
    const fits = [];
    data.remarks.forEach((r, index) => {
      if (kinds[r.kind] && (!line || r.line === line) && holds(lows[index], wanted)) fits.push(index);
    });
    found.textContent = line ? `${plural(fits.length, "remark")} at line ${line}` : plural(fits.length, "remark");
    all.hidden = !line;
    const more = fits.length > shown ? [el("li", {}, el("button", { onclick: () => { shown += 10 * PAGE; draw(); } }, `Show more of ${count(fits.length)}`))] : [];
    list.replaceChildren(...fits.slice(0, shown).map(remark), ...more);
    if (!fits.length) list.replaceChildren(el("li", { class: "empty" }, data.remarks.length ? "No remark fits." : "The passes have nothing to say."));
  }

  goTo.line = (at) => {
    pickLine(at);
    document.getElementById("source").scrollIntoView({ block: "start" });
  };
  const section = el("section", { id: "source" },
    el("h2", {}, "Source and remarks"),
    el("p", {}, "A dot marks a line with remarks; choose it to see only those."),
    el("div", { class: "bar" },
      searchField("Search remarks", (text) => { wanted = terms(text); shown = PAGE; draw(); }),
      ...Object.keys(kinds).map((kind) => tick(kind, true, (on) => { kinds[kind] = on; draw(); })), all, found),
    el("div", { class: "split" }, el("div", { class: "panel" }, rows.box), el("div", { class: "panel" }, list)));
  draw();
  return { title: "Source", note: data.remarks.length ? count(data.remarks.length) : "", section, ready: () => rows.set(lines.length) };
}

// What the e-graph and the other passes counted.
function countsSection() {
  const rules = new Map();
  for (const r of data.remarks) {
    if (r.kind === "analysis") continue;
    const key = `${r.pass}/${r.rule}`;
    if (!rules.has(key)) rules.set(key, { key, class: r.class || "", passed: 0, missed: 0, forbidden: new Set(), gain: 0 });
    const rule = rules.get(key);
    rule[r.kind] += 1;
    if (r.forbidden_by) rule.forbidden.add(r.forbidden_by);
    if (r.kind === "passed" && r.cost_before !== null && r.cost_after !== null) rule.gain += r.cost_before - r.cost_after;
  }
  const stats = Object.entries(data.stats);
  if (!stats.length && !rules.size) return null;
  const fuse = data.stats.fuse;
  const cards = fuse ? el("div", { class: "cards" }, ...Object.entries(fuse).map(([name, value]) => el("div", { class: "card" }, el("b", {}, count(value)), el("span", {}, name)))) : null;
  const others = stats.filter(([pass]) => pass !== "fuse");
  const table = el("table", {}, el("thead", {}, el("tr", {}, ...["rule", "class", "made", "missed", "gain", "forbidden by"].map((head, at) => el("th", { class: at > 1 && at < 5 ? "n" : "" }, head)))),
    el("tbody", {}, ...[...rules.values()].map((rule) => el("tr", {},
      el("td", {}, el("code", {}, rule.key)), el("td", {}, rule.class), el("td", { class: "n" }, count(rule.passed)), el("td", { class: "n" }, count(rule.missed)),
      el("td", { class: "n" }, rule.gain ? `${(rule.gain / 1000).toFixed(1)} ns` : ""), el("td", {}, [...rule.forbidden].join(", "))))));
  const counts = el("table", {}, el("tbody", {}, ...others.flatMap(([pass, rows]) => Object.entries(rows).map(([name, value], at) =>
    el("tr", {}, el("td", {}, at ? "" : pass), el("td", {}, name), el("td", { class: "n" }, count(value)))))));
  const section = el("section", { id: "rewrites" },
    el("h2", {}, "E-graph and rewrites"),
    el("p", {}, fuse ? "The fuse pass looks at the program in windows, each an e-graph; e-nodes are those of the largest. Rewrites are all that were made in them, fused those whose form was chosen." : "What the passes counted."),
    cards,
    el("div", { class: "split" },
      el("div", {}, el("h3", {}, "Rules"), el("div", { class: "panel" }, rules.size ? table : el("div", { class: "empty" }, "No rule fitted."))),
      el("div", {}, el("h3", {}, "Counts of the other passes"), el("div", { class: "panel" }, counts))));
  return { title: "E-graph", note: fuse && fuse["e-nodes"] !== undefined ? count(fuse["e-nodes"]) : "", section };
}
