// Engines and DMA queues over time, with the semaphores between them.
function timelineSection() {
  if (!times && !data.deadlock) return null;
  const head = el("h2", {}, "Timeline");
  if (!times) {
    return { title: "Timeline", note: "", section: el("section", { id: "timeline" }, head, el("p", {}, "The program never ends: ", data.deadlock)) };
  }
  const LANE = 34;
  const TOP = 20;
  const lanes = items.queues.map(() => []);
  for (let item = 0; item < itemCount; item += 1) lanes[items.queue[item]].push(item);
  const arrowsOf = new Map();
  times.signals.forEach(([, from, to], at) => {
    for (const end of [from, to]) {
      if (!arrowsOf.has(end)) arrowsOf.set(end, []);
      arrowsOf.get(end).push(at);
    }
  });
  const critical = new Set(times.critical);
  let showSignals = true;
  let showCritical = true;
  const MOST_ARROWS = 1500;
  const top = (lane) => TOP + lane * LANE;

  /** The first of a lane that ends after a time. */
  function firstAfter(lane, at) {
    let [low, high] = [0, lane.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times.end[lane[middle]] < at) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  function paint(g, chart) {
    const { from, to } = chart.axis;
    g.save();
    g.beginPath();
    g.rect(chart.left, 0, chart.width, chart.height);
    g.clip();
    lanes.forEach((lane, at) => {
      const y = top(at);
      const color = queueColor(at);
      // Latencies lie behind the transfers before.
      for (let n = firstAfter(lane, from); n < lane.length && times.start[lane[n]] <= to; n += 1) {
        const [start, moving] = [chart.x(times.start[lane[n]]), chart.x(times.moving[lane[n]])];
        if (moving - start < 2) continue;
        g.fillStyle = color;
        g.globalAlpha = 0.35;
        g.fillRect(start, y + LANE / 2 - 1.5, moving - start, 3);
        g.globalAlpha = 1;
      }
      let drawnTo = -1;
      for (let n = firstAfter(lane, from); n < lane.length; n += 1) {
        const item = lane[n];
        if (times.start[item] > to && times.ready[item] > to) break;
        const [start, moving, end] = [chart.x(times.start[item]), chart.x(times.moving[item]), chart.x(times.end[item])];
        // Many to a pixel look like one.
        if (end < drawnTo + 0.4 && item !== selection.item && item !== chart.over) continue;
        drawnTo = end;
        const width = Math.max(1, end - moving);
        const ready = chart.x(times.ready[item]);
        if (start - ready > 1.5) {
          g.strokeStyle = colors.faint;
          g.setLineDash([2, 2]);
          g.beginPath();
          g.moveTo(Math.max(ready, chart.left), y + LANE - 7);
          g.lineTo(start, y + LANE - 7);
          g.stroke();
          g.setLineDash([]);
        }
        g.fillStyle = color;
        g.fillRect(moving, y + 7, width - (width > 3 ? 0.6 : 0), LANE - 14);
        if (showCritical && critical.has(item)) {
          g.fillStyle = colors.critical;
          g.fillRect(moving, y + 3, width, 3);
        }
        if (item === selection.item || item === chart.over) {
          g.strokeStyle = colors.ink;
          g.lineWidth = item === selection.item ? 2 : 1;
          g.strokeRect(moving - 1, y + 6, width + 2, LANE - 12);
          g.lineWidth = 1;
        }
        if (width > 46) {
          g.save();
          g.beginPath();
          g.rect(moving, y, width - 4, LANE);
          g.clip();
          g.fillStyle = colors.paper;
          g.textAlign = "left";
          g.fillText(string(items.name[item]), Math.max(moving, chart.left) + 5, y + LANE / 2);
          g.restore();
        }
      }
    });
    if (showSignals) arrows(g, chart);
    g.restore();
    g.fillStyle = colors.paper;
    g.fillRect(0, 0, chart.left - 1, chart.height);
    g.textAlign = "left";
    lanes.forEach((lane, at) => {
      const y = top(at);
      g.strokeStyle = colors.line;
      g.beginPath();
      g.moveTo(0, y + LANE - 0.5);
      g.lineTo(chart.left + chart.width, y + LANE - 0.5);
      g.stroke();
      g.fillStyle = queueColor(at);
      g.fillRect(8, y + 11, 9, LANE - 22);
      g.fillStyle = colors.ink;
      g.fillText(items.queues[at], 23, y + LANE / 2);
    });
  }

  function arrows(g, chart) {
    const { from, to } = chart.axis;
    const near = new Set([...(arrowsOf.get(selection.item) || []), ...(arrowsOf.get(chart.over) || [])]);
    const inSight = times.signals.length <= MOST_ARROWS ? times.signals.map((_, at) => at)
      : times.signals.map((_, at) => at).filter((at) => times.signals[at][3] <= to && times.start[times.signals[at][2]] >= from);
    const few = inSight.length <= MOST_ARROWS ? inSight : [...near];
    g.strokeStyle = colors.signal;
    for (const at of few) {
      const [, source, target, when] = times.signals[at];
      const [x0, x1] = [chart.x(when), chart.x(times.start[target])];
      if (x1 < chart.left || x0 > chart.left + chart.width) continue;
      const [a, b] = [items.queue[source], items.queue[target]];
      const y0 = top(a) + (a < b ? LANE - 7 : 7);
      const y1 = top(b) + (a < b ? 7 : LANE - 7);
      g.globalAlpha = near.has(at) ? 1 : 0.32;
      g.lineWidth = near.has(at) ? 2 : 1;
      g.beginPath();
      g.moveTo(x0, y0);
      const bend = Math.max(6, Math.min(40, (x1 - x0) / 2));
      g.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
      g.stroke();
      g.beginPath();
      g.arc(x1, y1, near.has(at) ? 3 : 2, 0, 7);
      g.fillStyle = colors.signal;
      g.fill();
    }
    g.globalAlpha = 1;
    g.lineWidth = 1;
  }

  function hit(x, y) {
    const lane = lanes[Math.floor((y - TOP) / LANE)];
    if (!lane || x < chart.left) return -1;
    const slack = ((chart.axis.to - chart.axis.from) / chart.width) * 3;
    const at = chart.at(x);
    for (let n = firstAfter(lane, at - slack); n < lane.length; n += 1) {
      const item = lane[n];
      if (times.start[item] > at + slack) break;
      if (at >= times.moving[item] - slack && at <= times.end[item] + slack) return item;
    }
    return -1;
  }

  const chart = new Chart({
    label: "Timeline", left: 108, height: TOP + items.queues.length * LANE + 6, axis: timeAxis, paint, hit, tip: itemTip, format: timeMark,
    step: (by) => {
      const now = selection.item;
      const lane = lanes[now < 0 ? 0 : items.queue[now]];
      select(lane[Math.min(lane.length - 1, Math.max(0, lane.indexOf(now) + by))], "timeline");
    },
  });
  chart.pick = (item) => select(item, "timeline");
  selection.listeners.push((item, origin) => {
    if (item >= 0 && origin !== "timeline-pick") timeAxis.reveal(times.start[item], times.end[item]);
    chart.draw();
  });
  const section = el("section", { id: "timeline" }, head,
    el("p", {}, "Every queue under the cost profile: bars are words at work and transfers moving bytes, a thin line before a transfer is its latency, dashes are waiting, arcs are semaphores and events. Drag to move; zoom with the wheel and Ctrl, or with the keys when the chart is chosen."),
    el("div", { class: "bar" }, ...zoomButtons(() => timeAxis),
      tick("semaphores", true, (on) => { showSignals = on; chart.draw(); }),
      tick("critical path", true, (on) => { showCritical = on; chart.draw(); }),
      el("span", { class: "count" }, `${time(times.makespan)} in all, ${plural(times.signals.length, "signal")}`)),
    chart.box);
  return { title: "Timeline", note: time(times.makespan), section, ready: () => chart.redraw(), recolor: () => chart.redraw() };
}
