// Opens reports in headless Chromium and checks that they work: no error in the console, nothing fetched, search,
// toggles and hover do what they should, and a large program stays usable. Speaks the browser's own protocol over a
// pipe, so that nothing needs to be installed beside Node and a browser:
//
//   node scripts/report-browser/check.mjs REPORT.html… [--screenshots DIR] [--dark]
//
// BROWSER names the browser (default: chromium). Prints one line of figures a report; exits 1 when a check fails.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const LONGEST_LOAD = 3000; // ms until the page is ready
const LONGEST_KEY = 100; // ms from a key to the shown result

const args = process.argv.slice(2);
const option = (name) => (args.includes(name) ? args.splice(args.indexOf(name), 2)[1] : null);
const screenshots = option("--screenshots");
const dark = args.includes("--dark") && args.splice(args.indexOf("--dark"), 1).length > 0;
if (!args.length) {
  console.error("usage: check.mjs REPORT.html… [--screenshots DIR] [--dark]");
  process.exit(2);
}
if (screenshots) mkdirSync(screenshots, { recursive: true });

/** A browser of its own, with an empty profile. */
async function launch() {
  const profile = mkdtempSync(join(tmpdir(), "partita-report-"));
  const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--remote-debugging-pipe", `--user-data-dir=${profile}`, "about:blank"];
  const child = spawn(process.env.BROWSER || "chromium", flags, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
  const [, , , writer, reader] = child.stdio;
  let next = 0;
  let rest = "";
  const waiting = new Map();
  const listeners = [];
  const take = (message) => {
    if (message.id) {
      const { done, failed } = waiting.get(message.id);
      waiting.delete(message.id);
      if (message.error) failed(new Error(message.error.message));
      else done(message.result);
    } else for (const listener of listeners) listener(message);
  };
  reader.setEncoding("utf8");
  reader.on("data", (data) => {
    // Messages end with a zero byte.
    const parts = (rest + data).split("\0");
    rest = parts.pop();
    for (const part of parts) take(JSON.parse(part));
  });
  child.once("error", (error) => { console.error(`${error}`); process.exit(1); });
  const send = (method, params = {}, sessionId = undefined) => new Promise((done, failed) => {
    next += 1;
    waiting.set(next, { done, failed });
    writer.write(`${JSON.stringify({ id: next, method, params, sessionId })}\0`);
  });
  const close = async () => {
    await send("Browser.close").catch(() => {});
    await new Promise((done) => { child.once("exit", done); setTimeout(done, 5000); });
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  };
  return { send, listeners, close };
}

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

async function check(browser, file) {
  const problems = [];
  const fail = (what) => problems.push(what);
  const { targetId } = await browser.send("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await browser.send("Target.attachToTarget", { targetId, flatten: true });
  const page = (method, params) => browser.send(method, params, sessionId);
  const url = pathToFileURL(resolve(file)).href;
  const listener = ({ method, params, sessionId: from }) => {
    if (from !== sessionId) return;
    if (method === "Runtime.exceptionThrown") fail(`exception: ${params.exceptionDetails.exception?.description || params.exceptionDetails.text}`);
    if (method === "Runtime.consoleAPICalled") fail(`console.${params.type}`);
    if (method === "Log.entryAdded") fail(`${params.entry.level}: ${params.entry.text}`);
    if (method === "Network.requestWillBeSent" && params.request.url !== url && !params.request.url.startsWith("data:")) fail(`it fetches ${params.request.url}`);
  };
  browser.listeners.push(listener);
  for (const domain of ["Page", "Runtime", "Log", "Network"]) await page(`${domain}.enable`);
  await page("Network.emulateNetworkConditions", { offline: true, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
  await page("Emulation.setDeviceMetricsOverride", { width: 1360, height: 900, deviceScaleFactor: 1, mobile: false });
  await page("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }] });
  const run = async (body) => {
    const { result, exceptionDetails } = await page("Runtime.evaluate", { expression: `(async () => { ${body} })()`, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description || exceptionDetails.text);
    return result.value;
  };
  const shot = async (name) => {
    if (!screenshots) return;
    const { data } = await page("Page.captureScreenshot", { format: "png" });
    writeFileSync(join(screenshots, `${basename(file, ".html")}-${name}${dark ? "-dark" : ""}.png`), Buffer.from(data, "base64"));
  };
  const mouse = (type, x, y, more = {}) => page("Input.dispatchMouseEvent", { type, x, y, ...more });
  const key = async (name, text) => {
    await page("Input.dispatchKeyEvent", { type: text ? "keyDown" : "rawKeyDown", key: name, text, windowsVirtualKeyCode: { ArrowDown: 40, Enter: 13 }[name] });
    await page("Input.dispatchKeyEvent", { type: "keyUp", key: name });
  };
  const HELP = `
    const $ = (query) => document.querySelector(query);
    const $$ = (query) => [...document.querySelectorAll(query)];
    const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));`;
  const js = (body) => run(HELP + body);

  // Loading.
  const begun = performance.now();
  await page("Page.navigate", { url });
  for (;;) {
    if (await run("return document.documentElement.dataset.ready === 'true' && document.readyState === 'complete'").catch(() => false)) break;
    if (performance.now() - begun > 60000) throw new Error(`${file}: never ready; ${problems.join("; ")}`);
    await sleep(20);
  }
  await js("await painted(); await painted();");
  const load = performance.now() - begun;
  if (load > LONGEST_LOAD) fail(`it takes ${load.toFixed(0)} ms to load`);
  const has = Object.fromEntries((await js("return $$('main > section').map((section) => section.id)")).map((id) => [id, true]));
  await shot("1-overview");

  if (has.passes) {
    const before = await js("return $$('#passes .passes li').length");
    await js("$('#passes').scrollIntoView(); $$('#passes .bar input[type=checkbox]')[0].click(); await painted();");
    const after = await js("return $$('#passes .passes li').length");
    if (after < before) fail("showing unchanged passes hides some");
    const lines = await js("return $$('#passes .diff .row').length");
    if (!lines && before) fail("no diff is shown");
    await shot("2-passes");
    await js("$$('#passes .bar input[type=checkbox]')[0].click(); const last = $$('#passes .passes button').at(-1); if (last) last.click(); await painted();");
    await shot("2-passes-last");
  }
  if (has.source) {
    await js("$('#source').scrollIntoView(); await painted();");
    const dots = await js("const row = $('#source .row.has'); if (!row) return 0; row.click(); await painted(); return $$('#source .remarks li').length");
    const marks = await js("return $$('#source .row.has').length");
    if (marks && !dots) fail("a line with remarks shows none");
    await shot("3-source");
  }
  if (has.graph) {
    const count = await js("return $$('#graph .bar button[aria-pressed]').length");
    for (let at = 0; at < count; at += 1) {
      const shown = await js(`$('#graph').scrollIntoView(); $$('#graph .bar button[aria-pressed]')[${at}].click(); await painted(); return $$('#graph svg g.node').length + $$('#graph .empty').length`);
      if (!shown) fail(`graph ${at} is empty`);
      if (at === 0 || at === count - 1) await shot(`4-graph-${at}`);
    }
  }
  if (has.rewrites) {
    await js("$('#rewrites').scrollIntoView(); await painted();");
    await shot("5-rewrites");
  }
  /** The first place of a canvas, going through it in small steps, where the tip says something. */
  const hover = async (query, name) => {
    const box = await js(`const c = $('${query}'); c.scrollIntoView({ block: 'center' }); await painted(); const b = c.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]`);
    for (let y = 4; y < box[3]; y += 13) {
      for (let x = 120; x < box[2]; x += Math.max(20, box[2] / 24)) {
        await mouse("mouseMoved", box[0] + x, box[1] + y);
        const text = await run("const t = document.getElementById('tip'); return t.hidden ? '' : t.textContent");
        if (text) return { x: box[0] + x, y: box[1] + y, text };
      }
    }
    fail(`nothing to hover over in the ${name}`);
    return null;
  };
  if (has.tiles) {
    await js("$('#tiles').scrollIntoView(); await painted();");
    if (!(await js("return $$('#tiles .grid .row').length"))) fail("the table of tiles is empty");
    await shot("6-tiles");
    await hover("#memory canvas", "memory map");
    await shot("7-memory");
    await js("$$('#memory .bar input[type=checkbox]').forEach((box) => box.click()); await painted();");
    await shot("7-memory-steps");
  }
  if (has.timeline && (await js("return Boolean($('#timeline canvas'))"))) {
    const spot = await hover("#timeline canvas", "timeline");
    await shot("8-timeline");
    if (spot) {
      const word = spot.text.split(" ")[0];
      for (const type of ["mousePressed", "mouseReleased"]) await mouse(type, spot.x, spot.y, { button: "left", clickCount: 1 });
      await js("await painted();");
      const title = await js("return $('.detail h3')?.textContent || ''");
      if (!title.startsWith(word.split("]")[0])) fail(`a click on ${word} shows ${title}`);
      const before = await js("const c = $('#timeline canvas'); return c.toDataURL()");
      for (let n = 0; n < 4; n += 1) await key("+", "+");
      await js("await painted(); await painted();");
      if ((await js("return $('#timeline canvas').toDataURL()")) === before) fail("the timeline does not zoom");
      await mouse("mouseMoved", 5, 5);
      await shot("9-timeline-zoomed");
    }
  }
  let slowest = 0;
  if (has.words) {
    await js("$('#words').scrollIntoView(); await painted();");
    const shown = () => js("return [$('#words .bar .count').textContent, $$('#words .grid .row').length]");
    const [all, rows] = await shown();
    if (!rows) fail("the table of words is empty");
    if (rows > 200) fail(`the table of words holds ${rows} rows at once`);
    // As one types: each key by itself, to the frame after it.
    await key("/");
    for (const letter of "tensor sbuf") {
      const took = await js(`const field = $('#words input[type=search]'); const begun = performance.now(); field.value += '${letter}'; field.dispatchEvent(new Event('input')); await painted(); return performance.now() - begun`);
      slowest = Math.max(slowest, took);
    }
    if (slowest > LONGEST_KEY) fail(`a key in the search takes ${slowest.toFixed(0)} ms`);
    await js("const field = $('#words input[type=search]'); field.value = 'no such word'; field.dispatchEvent(new Event('input')); await painted();");
    const [none] = await shown();
    if (!none.startsWith("0 of")) fail(`searching for nothing finds ${none}`);
    await js("const field = $('#words input[type=search]'); field.value = ''; field.dispatchEvent(new Event('input')); await painted();");
    const [again] = await shown();
    if (again !== all) fail(`after the search ${again} instead of ${all}`);
    const halved = await js("const box = $$('#words .bar input[type=checkbox]')[0]; box.click(); await painted(); const text = $('#words .bar .count').textContent; box.click(); await painted(); return text");
    if (halved === all) fail("leaving out a queue changes nothing");
    await js("$('#words .rows').focus();");
    await key("ArrowDown");
    await key("ArrowDown");
    await js("await painted();");
    const fields = await js("return $$('.detail tbody tr').length");
    if (!fields) fail("the arrow keys choose no word");
    await shot("10-words");
    await js("$('#words .rows').scrollTop = 1e9; await painted(); await painted();");
    if (!(await js("return $$('#words .grid .row').length"))) fail("the end of the table is empty");
  }
  const wide = await js("return document.documentElement.scrollWidth - innerWidth");
  if (wide > 0) fail(`the page is ${wide} px wider than the window`);
  await page("Emulation.setDeviceMetricsOverride", { width: 420, height: 800, deviceScaleFactor: 1, mobile: false });
  await js("scrollTo(0, 0); await painted(); await painted();");
  const narrow = await js("return document.documentElement.scrollWidth - innerWidth");
  if (narrow > 0) fail(`in a narrow window the page is ${narrow} px too wide`);
  await shot("11-narrow");
  browser.listeners.splice(browser.listeners.indexOf(listener), 1);
  await browser.send("Target.closeTarget", { targetId });
  const size = (statSync(file).size / 1024).toFixed(0);
  console.log(`${file}: ${size} KiB, ready in ${load.toFixed(0)} ms, slowest key ${slowest.toFixed(0)} ms, ${problems.length ? "FAILED" : "ok"}`);
  for (const problem of problems) console.log(`  ${problem}`);
  return problems.length === 0;
}

const browser = await launch();
let good = true;
try {
  for (const file of args) good = (await check(browser, file)) && good;
} finally {
  await browser.close();
}
process.exit(good ? 0 : 1);
