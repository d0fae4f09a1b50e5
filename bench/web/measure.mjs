// node bench/web/measure.mjs PAGE.html...: how long a page takes to open and how smoothly its timeline moves, in
// Chromium's own tracing.
//
// Opening (medians of three): from navigation to the first view; to the step chart, when the recording is unpacked; and from a
// click on the tab to the timeline's first picture. Moving: four
// seconds of wheel zooms and four of panning, an input in each frame; from the trace, the main thread's time in a frame
// and the frames that Chromium dropped. A page of summaries of ranks has no timeline: its lanes are moved; nor has one of a
// snapshot: its bands are. Debian's headless Chromium draws without a GPU, so this is the slow case.
import { statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const { chromium } = await import(pathToFileURL(join(root, "web/node_modules/playwright-core/index.mjs")));

const kBands = ".memory canvas";
const kDrawn = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))";
const kLongest = 300_000; // ms: pages of tens of megabytes, on a busy machine

function quantile(values, at) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.length === 0 ? Number.NaN : sorted[Math.min(sorted.length - 1, Math.floor(at * sorted.length))];
}

// Inputs as a hand makes them, one a frame, for so many milliseconds.
const move = (page, what, ms, canvas) =>
  page.evaluate(
    `(async (what, ms, selector) => {
      const canvas = document.querySelector(selector);
      const box = canvas.getBoundingClientRect();
      const started = performance.now();
      const frames = [];
      let i = 0;
      while (performance.now() - started < ms) {
        const sign = Math.floor(i / 60) % 2 === 0 ? 1 : -1;
        const wheel = what === "zoom" ? { deltaY: -60 * sign } : { deltaY: 90 * sign, shiftKey: true };
        canvas.dispatchEvent(new WheelEvent("wheel", { ...wheel, clientX: box.left + 600, clientY: box.top + 200, cancelable: true }));
        await new Promise((done) => requestAnimationFrame((now) => { frames.push(now); done(); }));
        i++;
      }
      return frames;
    })("${what}", ${ms}, "${canvas}")`,
  );

// Script time is the main thread's own processor time, which other programs on the machine do not lengthen.
function readTrace(buffer) {
  const { traceEvents } = JSON.parse(buffer.toString());
  const frames = traceEvents.filter((e) => e.name === "FireAnimationFrame" && e.dur).map((e) => (e.tdur ?? e.dur) / 1000);
  const states = traceEvents.map((e) => e.args?.frame_reporter?.state).filter((state) => state !== undefined);
  const count = (state) => states.filter((s) => s.startsWith(state)).length;
  return { frames, shown: count("STATE_PRESENTED"), dropped: count("STATE_DROPPED") };
}

async function measureLanes(page, path, browser) {
  const result = { path, bytes: statSync(path).size };
  await page.locator(".ranks canvas").first().waitFor();
  for (const what of ["zoom", "pan"]) result[what] = await measureMoves(page, browser, what, ".ranks canvas");
  return result;
}

async function measureMoves(page, browser, what, canvas) {
  await browser.startTracing(page, { categories: ["devtools.timeline", "cc", "benchmark"] });
  const times = await move(page, what, 4000, canvas);
  const trace = readTrace(await browser.stopTracing());
  const gaps = times.slice(1).map((t, i) => t - times[i]);
  return {
    frames_per_s: (1000 * gaps.length) / (times[times.length - 1] - times[0]),
    gap_p95_ms: quantile(gaps, 0.95),
    script_median_ms: quantile(trace.frames, 0.5),
    script_p95_ms: quantile(trace.frames, 0.95),
    dropped: trace.dropped,
    shown: trace.shown,
  };
}

// A page of a snapshot opens with its memory: the first view is the bands, unpacked and laid out. Moved by event and by time.
async function measureMemory(page, path, browser) {
  const open = [];
  for (let i = 0; i < 3; i++) {
    await page.goto("about:blank");
    const started = performance.now();
    await page.goto(pathToFileURL(resolve(path)).href, { waitUntil: "commit" });
    await page.locator(kBands).waitFor();
    await page.evaluate(kDrawn);
    open.push(performance.now() - started);
  }
  const result = { path, bytes: statSync(path).size, short: await page.locator(".verdict .where").innerText(), bands_ms: quantile(open, 0.5) };
  for (const axis of ["allocator event", "time"]) {
    await page.getByLabel(axis, { exact: true }).check();
    for (const what of ["zoom", "pan"]) {
      await page.locator(kBands).focus();
      await page.keyboard.press("0");
      result[`${what} by ${axis}`] = await measureMoves(page, browser, what, kBands);
    }
  }
  const clicked = performance.now();
  await page.getByRole("button", { name: "End", exact: true }).click();
  await page.evaluate(kDrawn);
  result.other_moment_ms = performance.now() - clicked;
  await page.close();
  return result;
}

async function measure(browser, path) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 820 } });
  await page.goto(pathToFileURL(resolve(path)).href, { timeout: kLongest });
  await page.locator(`.verdict .sentence, ${kBands}`).first().waitFor({ timeout: kLongest });
  page.setDefaultTimeout(kLongest);
  const has = (tab) => page.getByRole("tab", { name: tab }).count();
  if ((await has("Timeline")) === 0) return (await has("Memory")) ? measureMemory(page, path, browser) : measureLanes(page, path, browser);
  const first = [];
  const open = [];
  const draw = [];
  for (let i = 0; i < 3; i++) {
    await page.goto("about:blank");
    const started = performance.now();
    await page.goto(pathToFileURL(resolve(path)).href, { waitUntil: "commit" });
    await page.locator(".verdict .sentence").waitFor();
    first.push(performance.now() - started);
    await page.locator(".steps svg, .steps-none").first().waitFor();
    open.push(performance.now() - started);
    const clicked = performance.now();
    await page.getByRole("tab", { name: "Timeline" }).click();
    await page.locator(".timeline canvas").waitFor();
    await page.evaluate(kDrawn);
    draw.push(performance.now() - clicked);
  }
  const result = { path, bytes: statSync(path).size, first_view_ms: quantile(first, 0.5), unpacked_ms: quantile(open, 0.5), timeline_ms: quantile(draw, 0.5) };
  for (const what of ["zoom", "pan"]) {
    await page.evaluate("window.stepscope.timeline.showAll()");
    result[what] = await measureMoves(page, browser, what, ".timeline canvas");
  }
  await page.close();
  return result;
}

const pages = process.argv.slice(2);
const template = statSync(join(root, "web/dist/page.html")).size;
const browser = await chromium.launch({
  executablePath: process.env.STEPSCOPE_CHROMIUM ?? "/usr/bin/chromium",
  args: process.getuid() === 0 ? ["--no-sandbox"] : [],
});
console.log(JSON.stringify({ code_bytes: template, chromium: browser.version() }));
for (const path of pages) console.log(JSON.stringify(await measure(browser, path), null, 1));
await browser.close();
