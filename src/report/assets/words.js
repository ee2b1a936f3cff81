// Words and descriptors with every field.
function wordsSection() {
  if (!itemCount) return null;
  const all = items.queue.map((_, at) => at);
  const layoutOf = (item) => items.layouts[items.layout[item]];
  const lows = all.map((item) => `${itemName(item)} ${items.text[item]} %${string(items.source[item])} line${items.line[item]} `.toLowerCase());
  const on = items.queues.map(() => true);
  let text = "";
  let signalsOnly = false;
  const neededBy = all.map(() => []);
  items.needs.forEach((needs, item) => needs.forEach((need) => neededBy[need].push(item)));
  const from = all.map(() => []);
  const to = all.map(() => []);
  if (times) {
    for (const [cell, source, target] of times.signals) {
      to[source].push([target, cell]);
      from[target].push([source, cell]);
    }
  }
  const operands = (item) => {
    const line = items.text[item];
    const space = line.indexOf(" ");
    return space < 0 ? "" : line.slice(space + 1);
  };
  const found = el("span", { class: "count", role: "status" });
  const columns = [
    { title: "#", width: "52px", n: true, value: (item) => count(item), sort: (item) => item },
    { title: "queue", width: "120px", value: itemName, sort: (item) => items.queue[item] * 1e9 + items.index[item] },
    { title: "operation", width: "minmax(150px, 1fr)", value: (item) => string(items.name[item]) },
    { title: "for", width: "minmax(64px, 0.4fr)", value: (item) => (items.source[item] && string(items.source[item]) ? `%${string(items.source[item])}` : "") },
    { title: "line", width: "46px", n: true, value: (item) => items.line[item] || "", sort: (item) => items.line[item] },
    { title: "cost", width: "108px", n: true, value: amount, sort: (item) => items.amount[item] ?? -1 },
    ...(times ? [{ title: "start", width: "84px", n: true, value: (item) => time(times.start[item]), sort: (item) => times.start[item] }] : []),
    { title: "fields", width: "minmax(90px, 3fr)", value: operands },
  ];
  const table = new Table({ label: "Words and descriptors", tall: "520px", width: 720, columns, pick: (item) => select(item, "words") });
  const detail = el("div", { class: "panel detail", tabIndex: 0, role: "region", "aria-label": "The chosen word" });

  function filter() {
    const wanted = terms(text);
    const fits = all.filter((item) => on[items.queue[item]] && holds(lows[item], wanted) && (!signalsOnly || from[item].length || to[item].length));
    found.textContent = `${count(fits.length)} of ${plural(itemCount, "item")}`;
    table.set(fits, wanted);
  }

  const chip = (item, note) => el("button", { class: "link", onclick: () => select(item, "detail") }, itemName(item) + (note ? ` (${note})` : ""));
  function links(title, entries) {
    return entries.length ? el("div", { class: "links" }, el("span", {}, `${title}:`), ...entries.slice(0, 40), entries.length > 40 ? `and ${count(entries.length - 40)} more` : null) : null;
  }

  function show(item) {
    if (item < 0) {
      detail.replaceChildren(el("p", { class: "count" }, "Choose a word to see its fields."));
      return;
    }
    const layout = layoutOf(item);
    const word = items.hex[item];
    const bytes = word ? word.match(/../g) : [];
    const cells = bytes.map((byte) => el("span", {}, byte));
    const light = (offset, size, lit) => cells.slice(offset, offset + size).forEach((cell) => cell.classList.toggle("lit", lit));
    const fields = layout.fields.map(([name, offset, size], at) => {
      const value = string(items.fields[item][at]);
      const blank = value === "" || value === "0" || /^0x0+$/.test(value) || value === "NONE";
      return el("tr", {
        class: blank ? "blank" : "",
        onpointerenter: () => light(offset, size, true), onpointerleave: () => light(offset, size, false),
      }, ...(word ? [el("td", { class: "n mono" }, size > 1 ? `${offset}–${offset + size - 1}` : String(offset))] : []), el("td", { class: "mono" }, name), el("td", { class: "mono" }, value));
    });
    const source = string(items.source[item]);
    const when = times ? el("div", {}, `${time(times.start[item])} to ${time(times.end[item])}; ${times.reason[item]}`) : null;
    detail.replaceChildren(
      el("h3", {}, `${itemName(item)}: ${string(items.name[item])}`),
      el("div", { class: "count" }, [layout.name, amount(item), `step ${count(item)}`].filter(Boolean).join(", ")),
      ...[when,
        source ? el("div", { class: "links" }, `for %${source}`, items.line[item] && data.source ? el("button", { class: "link", onclick: () => goTo.line(items.line[item]) }, `line ${items.line[item]}`) : null) : null,
        links("follows", (items.needs[item] || []).map((other) => chip(other))),
        links("followed by", neededBy[item].map((other) => chip(other))),
        links("waits for", from[item].map(([other, cell]) => chip(other, cell))),
        links("signals", to[item].map(([other, cell]) => chip(other, cell)))].filter(Boolean),
      el("table", {}, el("tbody", {}, ...fields)),
      ...(word ? [el("h3", {}, "Bytes"), el("div", { class: "bytes" }, ...cells)] : []));
    detail.scrollTop = 0;
  }

  selection.listeners.push((item, origin) => {
    show(item);
    if (origin === "words") return;
    if (!table.order.includes(item)) {
      text = "";
      search.value = "";
      on.fill(true);
      signalsOnly = false;
      section.querySelectorAll(".bar input[type=checkbox]").forEach((box) => { box.checked = !box.dataset.signals; });
      filter();
    }
    table.mark(item);
  });
  const search = searchField("Search words (/)", (value) => { text = value; filter(); });
  const ticks = items.queues.map((name, queue) => tick(name, true, (checked) => { on[queue] = checked; filter(); }));
  const signalTick = tick("with semaphores", false, (checked) => { signalsOnly = checked; filter(); });
  signalTick.querySelector("input").dataset.signals = "1";
  addEventListener("keydown", (event) => {
    const writes = ["INPUT", "TEXTAREA", "SELECT"].includes(document.activeElement.tagName);
    if (event.key !== "/" || writes || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    search.focus();
    section.scrollIntoView({ block: "start" });
  });
  const section = el("section", { id: "words" },
    el("h2", {}, "Words and descriptors"),
    el("p", {}, "In the order of the program. Choose a row to see every field and byte; a head sorts. Several words in the search must all occur."),
    el("div", { class: "bar" }, search, ...ticks, times ? signalTick : null, found),
    el("div", { class: "split wide" }, table.box, detail));
  return { title: "Words", note: count(itemCount), section, ready: () => { filter(); show(-1); } };
}
