// Tiles: a table, and where they lie over time.
function tilesSection() {
  const tiles = data.tiles;
  if (!tiles.length) return null;
  let picked = -1;
  const range = (tile) => `${hex(tile.byte)}–${hex(tile.byte + tile.bytes)}`;
  const use = (item) => (item === null ? "" : itemName(item));
  const all = tiles.map((_, at) => at);
  const lows = tiles.map((t) => `${t.name} ${t.space} ${t.ty} ${range(t)} ${t.source} ${use(t.first)} ${use(t.last)}`.toLowerCase());
  const number = (of) => ({ n: true, value: (at) => count(of(tiles[at])), sort: (at) => of(tiles[at]) });
  const found = el("span", { class: "count", role: "status" });
  const table = new Table({
    label: "Tiles", tall: "300px", width: 980,
    columns: [
      { title: "tile", width: "minmax(110px, 2fr)", value: (at) => `%${tiles[at].name}` },
      { title: "for", width: "minmax(80px, 1fr)", value: (at) => (tiles[at].source ? `%${tiles[at].source}` : "") },
      { title: "memory", width: "76px", value: (at) => tiles[at].space },
      { title: "type", width: "minmax(110px, 1.4fr)", value: (at) => tiles[at].ty },
      { title: "partitions", width: "90px", ...number((tile) => tile.partitions) },
      { title: "bytes each", width: "96px", ...number((tile) => tile.bytes) },
      { title: "at", width: "minmax(120px, 1fr)", value: (at) => range(tiles[at]), sort: (at) => tiles[at].byte },
      { title: "first use", width: "130px", value: (at) => use(tiles[at].first), sort: (at) => tiles[at].first ?? -1 },
      { title: "last use", width: "130px", value: (at) => use(tiles[at].last), sort: (at) => tiles[at].last ?? -1 },
      { title: "writes", width: "64px", ...number((tile) => tile.writes) },
      { title: "reads", width: "64px", ...number((tile) => tile.reads) },
    ],
    pick: (at) => { picked = at; chart.draw(); },
  });
  function filter(text) {
    const wanted = terms(text);
    const fits = all.filter((at) => holds(lows[at], wanted));
    found.textContent = plural(fits.length, "tile");
    table.set(fits, wanted);
  }

  // The map.
  const TOP = 20;
  const memories = ["sbuf", "psum"].filter((space) => tiles.some((tile) => tile.space === space));
  let overTime = Boolean(times);
  let wholePartition = false;
  const axis = () => (overTime ? timeAxis : stepAxis);
  // A tile lives from its first use to its last, as simulated or in the order of the program.
  function life(tile) {
    if (tile.first === null) return null;
    return overTime ? [tile.from, tile.to] : [tile.first, tile.last + 1];
  }
  if (times) {
    for (const tile of tiles) {
      if (tile.first === null) continue;
      tile.from = times.start[tile.first];
      tile.to = Math.max(times.end[tile.first], times.end[tile.last]);
    }
  }
  const high = {};
  for (const tile of tiles) high[tile.space] = Math.max(high[tile.space] || 0, tile.byte + tile.bytes);
  const ceiling = (space) => (wholePartition ? data.memories[space] : Math.max(64, high[space]));
  const TALL = 300;
  const GAP = 18;
  const area = (space) => [TOP + memories.indexOf(space) * (TALL + GAP), TALL];
  const sources = [...new Set(tiles.map((tile) => tile.source))];
  const shade = (tile) => colors[`q${sources.indexOf(tile.source) % 6}`];
  function box(tile) {
    const span = life(tile);
    if (!span) return null;
    const [top, tall] = area(tile.space);
    const scale = tall / ceiling(tile.space);
    const [x0, x1] = [chart.x(span[0]), chart.x(span[1])];
    return [x0, top + tall - (tile.byte + tile.bytes) * scale, Math.max(1.5, x1 - x0), Math.max(1.5, tile.bytes * scale)];
  }
  function paint(g) {
    g.save();
    g.beginPath();
    g.rect(chart.left, TOP, chart.width, chart.height - TOP);
    g.clip();
    tiles.forEach((tile, at) => {
      const where = box(tile);
      if (!where || where[0] > chart.left + chart.width || where[0] + where[2] < chart.left) return;
      const uses = selection.item >= 0 && tile.first <= selection.item && tile.last >= selection.item;
      g.fillStyle = shade(tile);
      g.globalAlpha = at === chart.over || at === picked ? 0.95 : uses ? 0.75 : 0.5;
      g.fillRect(...where);
      g.globalAlpha = 1;
      if (at === picked || (where[2] > 4 && where[3] > 4)) {
        g.strokeStyle = at === picked ? colors.ink : colors.paper;
        g.lineWidth = at === picked ? 2 : 0.7;
        g.strokeRect(...where);
        g.lineWidth = 1;
      }
      if (where[2] > 46 && where[3] > 12) {
        g.save();
        g.beginPath();
        g.rect(...where);
        g.clip();
        g.fillStyle = colors.ink;
        g.textAlign = "left";
        g.fillText(`%${tile.name}`, Math.max(where[0], chart.left) + 4, where[1] + where[3] / 2);
        g.restore();
      }
    });
    g.restore();
    g.fillStyle = colors.paper;
    g.fillRect(0, 0, chart.left - 1, chart.height);
    for (const space of memories) {
      const [top, tall] = area(space);
      g.strokeStyle = colors.line;
      g.strokeRect(chart.left - 0.5, top + 0.5, chart.width, tall - 1);
      g.fillStyle = colors.faint;
      g.textAlign = "right";
      g.fillText(hex(ceiling(space)), chart.left - 8, top + 7);
      g.fillText("0x0", chart.left - 8, top + tall - 7);
      g.fillStyle = colors.ink;
      g.textAlign = "left";
      g.fillText(space, 10, top + tall / 2);
    }
  }
  function hit(x, y) {
    for (let at = tiles.length - 1; at >= 0; at -= 1) {
      const where = box(tiles[at]);
      if (where && x >= Math.max(chart.left, where[0] - 1) && x <= where[0] + where[2] + 1 && y >= where[1] && y <= where[1] + where[3]) return at;
    }
    return -1;
  }
  function say(at) {
    const tile = tiles[at];
    return [el("b", {}, `%${tile.name}: ${tile.space}, ${tile.ty}`),
      el("div", {}, `bytes ${range(tile)}, ${count(tile.bytes)} in each of ${plural(tile.partitions, "partition")}`),
      el("div", {}, `${use(tile.first)} to ${use(tile.last)}, ${plural(tile.writes, "write")}, ${plural(tile.reads, "read")}`),
      tile.source ? el("div", {}, `for %${tile.source}`) : null].filter(Boolean);
  }
  const chart = new Chart({ label: "Memory map", left: 78, height: TOP + memories.length * (TALL + GAP), axis: axis(), paint, hit, tip: say, format: (at, by) => (overTime ? timeMark(at, by) : stepMark(at)) });
  chart.pick = (at) => { picked = at; table.mark(at); chart.draw(); };
  selection.listeners.push(() => chart.draw());
  const peak = memories.map((space) => `${space} ${count(high[space])} of ${count(data.memories[space])} bytes`).join(", ");
  const ground = el("div", { class: "bar" }, ...zoomButtons(axis),
    times ? tick("over time", overTime, (on) => { overTime = on; chart.follow(axis()); chart.draw(); }) : null,
    tick("whole partition", false, (on) => { wholePartition = on; chart.draw(); }),
    el("span", { class: "count" }, `highest byte: ${peak}`));
  const section = el("section", { id: "tiles" },
    el("h2", {}, "Tiles"),
    el("p", {}, "Tiles on the chip, with the words and transfers that use them first and last."),
    el("div", { class: "bar" }, searchField("Search tiles", filter), found), table.box);
  const map = el("section", { id: "memory" },
    el("h2", {}, "Memory map"),
    el("p", {}, "The bytes of a partition over time: a tile is a rectangle from its first use to its last. Colours tell the values that tiles are for."),
    ground, chart.box);
  return [{ title: "Tiles", note: count(tiles.length), section, ready: () => filter("") },
    { title: "Memory", note: "", section: map, ready: () => chart.redraw(), recolor: () => chart.redraw() }];
}
