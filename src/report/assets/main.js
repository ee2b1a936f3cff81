// The page.
function overviewSection() {
  const cost = data.cost;
  const card = (value, label) => el("div", { class: "card" }, el("b", {}, value), el("span", {}, label));
  const words = cost.engines.reduce((sum, engine) => sum + engine.words, 0);
  const cards = [
    card(count(words), "words"),
    card(count(cost.dma.descriptors), "descriptors"),
    card(count(cost.dma.bytes), "bytes moved"),
    times ? card(time(times.makespan), "simulated time") : null,
    card(time(cost.bound_ns * 1000), "bound: no schedule is shorter"),
    data.tiles.length ? card(count(data.tiles.length), "tiles on the chip") : null,
    data.remarks.length ? card(count(data.remarks.length), "remarks") : null,
  ].filter(Boolean);
  const parts = [el("h2", {}, "Overview"), el("div", { class: "cards" }, ...cards)];
  const byName = new Map(times ? times.engines : []);
  const bar = (name) => {
    const spent = byName.get(name);
    if (!spent) return "";
    const all = spent.reduce((sum, part) => sum + part, 0) || 1;
    const tints = [`var(--${engineColors[name] || "dma"})`, "var(--faint)", "var(--warn)", "var(--line)"];
    const names = ["busy", "waiting", "waiting for memory", "done"];
    return el("div", { class: "bars", role: "img", "aria-label": names.map((label, at) => `${label} ${Math.round((100 * spent[at]) / all)}%`).join(", "), title: names.map((label, at) => `${label} ${Math.round((100 * spent[at]) / all)}%`).join(", ") },
      ...spent.map((part, at) => el("i", { style: `width: ${(100 * part) / all}%; background: ${tints[at]}` })));
  };
  const rows = cost.engines.map((engine) => el("tr", {}, el("td", {}, engine.engine), el("td", { class: "n" }, count(engine.words)), el("td", { class: "n" }, count(engine.cycles)), el("td", { class: "n" }, time(engine.busy_ns * 1000)), el("td", {}, bar(engine.engine))));
  rows.push(el("tr", {}, el("td", {}, "dma"), el("td", { class: "n" }, count(cost.dma.descriptors)), el("td", {}), el("td", { class: "n" }, time(cost.dma.busy_ns * 1000)), el("td", {})));
  const key = el("div", { class: "legend" }, ...[["busy", "var(--q0)"], ["waiting", "var(--faint)"], ["waiting for memory", "var(--warn)"], ["done", "var(--line)"]].map(([label, tint]) => el("span", {}, el("i", { style: `background: ${tint}` }), label)));
  const engines = el("div", {}, el("h3", {}, "Engines"), el("div", { class: "panel" }, el("table", {}, el("thead", {}, el("tr", {}, ...["queue", "items", "cycles", "busy", ""].map((head, at) => el("th", { class: at > 0 && at < 4 ? "n" : "" }, head)))), el("tbody", {}, ...rows))), times ? key : null);
  const shares = times && times.shares.length ? el("div", {}, el("h3", {}, "What the critical path is spent on"), el("div", { class: "panel" }, el("table", {}, el("tbody", {}, ...times.shares.map(([of, ns]) => el("tr", {}, el("td", {}, of), el("td", { class: "n" }, time(ns * 1000)), el("td", {}, el("div", { class: "bars" }, el("i", { style: `width: ${Math.min(100, (100000 * ns) / times.makespan)}%; background: var(--accent)` }))))))))) : null;
  parts.push(el("div", { class: "split" }, engines, ...(shares ? [shares] : [])));
  return { title: "Overview", note: "", section: el("section", { id: "overview" }, ...parts) };
}

document.getElementById("top").append(
  el("h1", {}, data.file + (data.entry ? ` @${data.entry}` : "")),
  el("p", {}, [`target ${data.target}`, `profile ${data.cost.profile}`, data.pipeline ? `passes ${data.pipeline.replaceAll(",", ", ")}` : "", `Partita ${data.version}`].filter(Boolean).join(" · ")));
const sections = [overviewSection(), passesSection(), sourceSection(), graphSection(), countsSection(), tilesSection(), timelineSection(), wordsSection()].flat().filter(Boolean);
const contents = document.getElementById("contents");
for (const { title, note, section } of sections) {
  contents.append(el("a", { href: `#${section.id}` }, title, el("span", {}, note)));
  document.getElementById("main").append(section);
}
for (const { ready } of sections) if (ready) ready();

// The section in sight is marked among the contents.
const links = [...contents.children];
const mark = frame(() => {
  let here = 0;
  sections.forEach(({ section }, at) => {
    if (section.getBoundingClientRect().top < innerHeight / 3) here = at;
  });
  links.forEach((link, at) => {
    link.classList.toggle("here", at === here);
    if (at === here) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  });
});
addEventListener("scroll", mark, { passive: true });
mark();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  readColors();
  for (const { recolor } of sections) if (recolor) recolor();
});
addEventListener("scroll", hideTip, { passive: true });
document.documentElement.dataset.ready = "true";
