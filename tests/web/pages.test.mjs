// Opens the pages of recordings as a reader does: every view is clicked, every number that is also in the program's own
// JSON is compared with it, and any error, policy violation or request fails the test.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { closeBrowser, data, folder, makePage, model, openPage, openTab, run } from "./browser.mjs";

after(closeBrowser);

const recordings = [
  "h200/loader.pt.trace.json.gz",
  "h200/solid4_stack.pt.trace.json.gz",
  "h200/graph.pt.trace.json.gz",
  "planted/checkpoint.pt.trace.json.gz",
  "planted/launch_blocking.pt.trace.json.gz",
  "jax/vm.trace.json.gz",
  "capture/cpu_v1_0.stepscope",
  "cases/A01_truncated_mid_event.json",
];

async function checkOverview(page, report) {
  assert.equal(await page.locator(".verdict .sentence").innerText(), report.verdict);
  const cards = page.locator("article.finding");
  assert.equal(await cards.count(), report.findings.length);
  for (const [i, finding] of report.findings.entries()) {
    assert.equal(await cards.nth(i).locator("h3").innerText(), finding.title);
    assert.equal(await cards.nth(i).locator(".id").innerText(), finding.id);
  }
  if (report.steps.median_ns !== null) {
    const shown = await page.locator(".figures strong").first().innerText();
    const [value, unit] = shown.split(" ");
    const ns = Number(value.replaceAll(",", "")) * { ns: 1, "µs": 1e3, ms: 1e6, s: 1e9 }[unit];
    assert.ok(Math.abs(ns - report.steps.median_ns) <= report.steps.median_ns * 0.005, `${shown} is ${report.steps.median_ns}`);
  }
  const bars = page.locator("g.step");
  if (report.steps.count > 0) assert.equal(await bars.count(), report.steps.count);
  const unnamed = await page.evaluate(() => [...document.querySelectorAll("button, input, select, canvas")].filter((e) => {
    const name = e.getAttribute("aria-label") || e.textContent || e.closest("label")?.textContent || "";
    return name.trim() === "";
  }).length);
  assert.equal(unnamed, 0, "every control has a name");
}

async function checkTimeline(page, report, steps) {
  await openTab(page, "Timeline");
  await page.locator(".timeline canvas").waitFor();
  const shown = await model(page, (m, t) => ({
    gpu: m.gpu.count,
    host: m.host.count,
    steps: m.steps.map((s) => [s.number, s.end - s.start, s.busy]),
    idle: m.devices.map((d) => [d.number, [...m.gaps.start.keys()].filter((i) => m.gaps.device[i] === d.row).reduce((sum, i) => sum + m.gaps.end[i] - m.gaps.start[i], 0)]),
    causes: m.gaps.partLength.reduce((sum, ns) => sum + ns, 0),
    tracks: t.layout.tracks.map((track) => track.id),
  }));
  const { ledger } = report;
  assert.equal(shown.gpu, ledger.gpu_event_count - ledger.bad_duration_count - ledger.duplicate_gpu_event_count);
  assert.deepEqual(shown.steps.map((s) => s.slice(0, 2)), steps.rows.map((row) => [row.step, row.duration_ns]));
  for (const [i, row] of steps.rows.entries()) if (row.gpu_busy_ns !== null) assert.equal(shown.steps[i][2], row.gpu_busy_ns);
  for (const device of report.devices) {
    if (device.idle_ns === null) continue;
    const idle = shown.idle.find(([number]) => number === device.device)[1];
    assert.equal(idle, device.idle_ns, "gaps add up to the idle time");
  }
  if (report.devices.length === 1 && report.devices[0].idle_ns !== null) assert.equal(shown.causes, report.devices[0].idle_ns);

  // Keys move it, a drag on the ruler selects, a click chooses.
  const canvas = page.locator(".timeline canvas");
  await canvas.focus();
  const before = await model(page, (_, t) => [t.view.start, t.view.end]);
  await page.keyboard.press("w");
  await page.keyboard.press("d");
  const moved = await model(page, (_, t) => [t.view.start, t.view.end]);
  assert.ok(moved[1] - moved[0] < before[1] - before[0], "W zooms in");
  await page.keyboard.press("0");
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + 300, box.y + 10);
  await page.mouse.down();
  await page.mouse.move(box.x + 700, box.y + 10, { steps: 4 });
  await page.mouse.up();
  await page.getByText("Selected:").waitFor();
  await page.mouse.move(box.x + 600, box.y + 200);
  await page.mouse.wheel(0, -400);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  await page.locator(".facts").waitFor();
  await page.getByLabel("launch arrows").check();
  await page.getByRole("button", { name: "Keys" }).click();
  await page.getByLabel("search").fill("a");
  await page.getByRole("button", { name: "Next match" }).click();
  await page.keyboard.press("Escape");
}

async function checkTables(page, report) {
  await openTab(page, "Tables");
  for (const name of ["Operators", "Kernels", "Shapes", "Modules"]) {
    await page.getByRole("tab", { name, exact: true }).click();
    if (name === "Shapes" && !report.efficiency.shapes_recorded) {
      const how = report.source.record_with.shapes;
      await page.getByText(`No shapes were recorded${how ? `: record with ${how}` : ""}.`).waitFor();
    }
    if (name !== "Kernels" || !report.tables || report.tables.kernels.length === 0) continue;
    await page.locator("table.sortable").waitFor();
    const rows = await page.locator("table.sortable tbody tr").evaluateAll((all) => all.map((tr) => [...tr.cells].map((td) => td.title || td.firstChild?.textContent)));
    assert.equal(rows.length, Math.min(500, report.tables.kernels.length));
    const [first] = report.tables.kernels;
    const shown = rows.find((row) => row[0] === first.name);
    assert.ok(shown, `${first.name} is in the table`);
    assert.equal(shown[2], first.count.toLocaleString("en-US"));
    await page.getByRole("button", { name: /^count/ }).click();
    await page.getByLabel("filter").fill(first.name.slice(0, 12));
    await page.getByRole("button", { name: "Copy as CSV" }).click();
    await page.getByText(/copied as CSV|did not allow/).waitFor();
  }
}

// Every time by every grouping, a click into each. Done inside the page, since waiting for each press as for a hand's costs a second.
async function checkFlames(page) {
  await openTab(page, "Flame graph");
  await page.getByLabel("GPU time", { exact: true }).waitFor();
  const drawn = await page.evaluate(async () => {
    const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    const [times, groupings] = [...document.querySelectorAll("fieldset")].map((set) => [...set.querySelectorAll("input")]);
    let drawn = 0;
    for (const time of times) {
      for (const by of groupings) {
        time.click();
        by.click();
        await frame();
        const canvas = document.querySelector("#view canvas");
        if (!time.checked || !by.checked) throw new Error("not chosen");
        if (!canvas) continue;
        drawn++;
        const box = canvas.getBoundingClientRect();
        canvas.dispatchEvent(new MouseEvent("click", { bubbles: true, clientX: box.left + 60, clientY: box.top + 28 }));
        await frame();
      }
    }
    return drawn;
  });
  assert.ok(drawn > 0, "a flame graph");
}

for (const file of recordings) {
  test(`page of ${file}`, async () => {
    const report = JSON.parse(run("report", data(file), "--json", "--top", "1000000"));
    const steps = JSON.parse(run("steps", data(file), "--json"));
    const { page, wrong, close } = await openPage(makePage("one", data(file)));
    await page.locator("h1").waitFor();
    await checkOverview(page, report);
    await checkTimeline(page, report, steps);
    await checkTables(page, report);
    await checkFlames(page);
    await page.getByRole("button", { name: /Switch to the dark/ }).click();
    await page.locator("html[data-theme=dark]").waitFor();
    await openTab(page, "Overview");
    assert.deepEqual(wrong, []);
    await close();
  });
}

test("a finding leads to its evidence", async () => {
  const file = data("h200/loader.pt.trace.json.gz");
  const report = JSON.parse(run("report", file, "--json"));
  const { page, wrong, close } = await openPage(makePage("evidence", file));
  await page.getByRole("button", { name: "Show on the timeline", exact: true }).first().click();
  await page.locator(".timeline canvas").waitFor();
  const shown = await model(page, (m, t) => [t.evidence.start + Number(m.directory.origin_ns), t.evidence.end + Number(m.directory.origin_ns), t.view.start <= t.evidence.start && t.view.end >= t.evidence.end]);
  const { at } = report.findings[0].evidence.find((e) => e.at);
  // The file's times have 16 digits and more: a double keeps them within half a microsecond.
  assert.ok(Math.abs(shown[0] - at.start_ns) < 512 && Math.abs(shown[1] - at.end_ns) < 512);
  assert.ok(shown[2], "it is in sight");
  assert.deepEqual(wrong, []);
  await close();
});

test("memory shows the peak of the report, and what was held", async () => {
  const file = data("h200/memspike.pt.trace.json.gz");
  const report = JSON.parse(run("report", file, "--json"));
  const { page, wrong, close } = await openPage(makePage("memory", file));
  await openTab(page, "Memory");
  const canvas = page.locator(".memory canvas");
  await canvas.waitFor();
  const gib = report.memory.devices[0].allocated_peak.bytes / 2 ** 30;
  const sentence = await page.locator(".verdict .sentence").innerText();
  const shown = Number(/^At the peak ([\d.]+) GiB/.exec(sentence)[1]);
  assert.ok(Math.abs(shown - gib) <= gib * 0.005, `${sentence} is ${gib}`);
  assert.ok((await page.locator("table.held").nth(1).locator("tbody tr").count()) > 3);
  await canvas.click({ position: { x: 300, y: 400 } });
  await page.getByText(/Held at event/).waitFor();
  await page.getByLabel("time", { exact: true }).check();
  await canvas.focus();
  for (const key of ["w", "d", "s", "a", "0", "ArrowRight", "ArrowLeft"]) await page.keyboard.press(key);
  await page.getByRole("button", { name: "Peak" }).click();
  await page.getByText(/Held at the peak/).waitFor();
  assert.deepEqual(wrong, []);
  await close();
});

test("a snapshot makes a page of its memory", async () => {
  const file = data("memory/C10_oom_fragmented.pickle");
  const report = JSON.parse(run("memory", file, "--json"));
  const { page, wrong, close } = await openPage(makePage("snapshot", file));
  await page.locator(".memory canvas").waitFor();
  assert.deepEqual(await page.getByRole("tab").allInnerTexts(), ["Memory"]);
  assert.match(await page.locator(".verdict .sentence").innerText(), /^At the peak .* A request of .* failed\.$/);
  await page.getByRole("button", { name: "Out of memory" }).click();
  await page.getByRole("heading", { name: /^Held at/ }).waitFor();
  assert.equal(await page.locator(".segment-row").count(), report.devices.find((d) => d.is_main).segments);
  assert.deepEqual(await page.locator("article.finding h3").allInnerTexts(), report.findings.map((f) => f.title));
  await page.locator(".memory canvas").click({ position: { x: 400, y: 400 } });
  assert.deepEqual(wrong, []);
  await close();
});

// The lanes have what the document says: each rank's median step, own work and wait, on one clock.
async function checkLanes(page, report) {
  await page.waitForFunction(() => window.stepscope?.lanes);
  const shown = await page.evaluate(() => {
    const { steps, fleet, canvas, view } = window.stepscope.lanes;
    const ranks = [...steps.rows].map(([rank, rows]) => ({
      label: fleet.ranks[rank].label,
      duration: rows.map((row) => steps.end[row] - steps.start[row]),
      wait: rows.map((row) => steps.wait[row]),
      own: rows.map((row) => steps.end[row] - steps.start[row] - steps.wait[row]),
      communication: rows.map((row) => steps.communication[row]),
      numbers: rows.map((row) => steps.step[row]),
    }));
    return { ranks, scale: view.perPixel, width: canvas.clientWidth };
  });
  const median = (values) => [...values].sort((a, b) => a - b)[(values.length - 1) >> 1];
  assert.equal(shown.ranks.length, report.fleet.ranks.length);
  for (const rank of shown.ranks) {
    const said = report.fleet.ranks.find((each) => each.label === rank.label);
    assert.equal(median(rank.duration), said.step_ns);
    assert.equal(median(rank.own), said.own_ns);
    assert.equal(median(rank.wait), said.wait_ns);
    assert.equal(median(rank.communication.map((ns, i) => ns + rank.wait[i])), said.exposed_communication_ns);
    assert.deepEqual(rank.numbers, report.fleet.steps.map((step) => step.step));
  }
  // From nothing the keyboard comes to the straggler.
  await page.locator(".ranks canvas").first().focus();
  await page.keyboard.press("ArrowRight");
  await page.getByRole("status").filter({ hasText: `${report.fleet.stragglers[0]}, step ${report.fleet.steps[0].step}` }).waitFor();
  await page.keyboard.press("w");
  await page.waitForFunction((before) => window.stepscope.lanes.view.perPixel < before, shown.scale);
  await page.keyboard.press("0");
  await page.getByRole("radio", { name: "latest first" }).check();
}

// Four steps of 10 ms; in some of them rank 0 is stopped for 5.
function stoppedRank(rank, stopped = [0, 1, 2, 3]) {
  const events = [];
  for (let step = 0; step < 4; step++) {
    const ts = 1000 + 10000 * step;
    const host = { ph: "X", pid: 7, tid: 7 };
    events.push({ ...host, cat: "user_annotation", name: `ProfilerStep#${step}`, ts, dur: 9990 });
    events.push({ ...host, cat: "cuda_runtime", name: "cudaLaunchKernel", ts: ts + 10, dur: 5, args: { correlation: step + 1 } });
    events.push({ ph: "X", pid: 0, tid: 7, cat: "kernel", name: "gemm", ts: ts + 20, dur: 3000, args: { correlation: step + 1, device: 0, stream: 7 } });
    if (rank === 0 && stopped.includes(step)) events.push({ ...host, cat: "overhead", name: "Stepscope wrote a memory snapshot", ts: ts + 4000, dur: 5000 });
  }
  const file = join(folder, `stopped${rank}.json`);
  writeFileSync(file, JSON.stringify({ traceEvents: events, distributedInfo: { rank, world_size: 2, backend: "nccl" } }));
  return file;
}

test("what Stepscope itself stopped is said of all ranks as in the text", async () => {
  const files = [0, 1].map((rank) => stoppedRank(rank));
  assert.ok(JSON.parse(run("report", ...files, "--json")).fleet.stops.in_every_step);
  const { page, wrong, close } = await openPage(makePage("stopped", ...files));
  await openTab(page, "Ranks");
  const words = (await page.locator("p.stops").innerText()).replace(/\.$/, "");
  assert.ok(run("report", ...files).replace(/\s+/g, " ").includes(words), words);
  assert.deepEqual(wrong, []);
  await close();
});

test("a step that Stepscope itself stopped is named below the steps as in the text", async () => {
  const file = stoppedRank(0, [2]);
  const { page, wrong, close } = await openPage(makePage("stopped_step", file));
  const words = (await page.locator("p.stops").innerText()).replace(/\.$/, "");
  assert.match(words, /#2/);
  assert.ok(run("report", file).replace(/\s+/g, " ").includes(words), words);
  assert.deepEqual(wrong, []);
  await close();
});

test("two ranks stand on one clock", async () => {
  const files = [0, 1].map((rank) => data(`h200/straggler_rank${rank}.pt.trace.json.gz`));
  const report = JSON.parse(run("report", ...files, "--json"));
  const { page, wrong, close } = await openPage(makePage("ranks", ...files));
  assert.equal(await page.locator(".verdict .sentence").innerText(), report.verdict);
  assert.equal(await page.locator("article.finding").count(), report.findings.length);
  await openTab(page, "Ranks");
  await page.locator(".ranks canvas").last().waitFor();
  await checkLanes(page, report);
  const labels = await page.locator("table.ranks:not(.fleet) tbody tr td:first-child").allInnerTexts();
  assert.deepEqual(labels.map((text) => text.trim()), report.ranks.map((rank) => rank.label));
  assert.equal(await page.locator("table.fleet tbody tr td:first-child strong").innerText(), report.fleet.stragglers[0]);
  await page.locator(".ranks canvas").last().hover();
  await page.mouse.wheel(0, -300);
  await openTab(page, "Timeline");
  await page.locator(".timeline canvas").waitFor();
  await page.getByLabel("recording").selectOption("1");
  await page.locator(".timeline canvas").waitFor();
  assert.deepEqual(wrong, []);
  await close();
});

test("hostile names stay names", async () => {
  const names = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "\"'`${alert(3)}<!--<script>",
    "=HYPERLINK(\"http://example.org\")",
    "ünï\u2028cöde \u202e right to left",
    "x".repeat(10 << 20),
  ];
  const events = [{ ph: "X", cat: "user_annotation", name: "ProfilerStep#1", pid: 1, tid: 1, ts: 0, dur: 900 }];
  names.forEach((name, i) => {
    events.push({ ph: "X", cat: "cpu_op", name, pid: 1, tid: 1, ts: 10 + i * 100, dur: 80, args: { "External id": i + 1, "Input Dims": name.slice(0, 100) } });
    events.push({ ph: "X", cat: "cuda_runtime", name: "cudaLaunchKernel", pid: 1, tid: 1, ts: 20 + i * 100, dur: 5, args: { correlation: i + 1, "External id": i + 1 } });
    events.push({ ph: "X", cat: "kernel", name, pid: 0, tid: 7, ts: 40 + i * 100, dur: 30, args: { device: 0, stream: 7, correlation: i + 1, "External id": i + 1 } });
  });
  const text = Buffer.from(JSON.stringify({ traceEvents: events, traceName: names[0], deviceProperties: [{ id: 0, name: names[1] }] }));
  // One byte that is no UTF-8, in the middle of a name.
  text[text.indexOf("right to left")] = 0xff;
  const file = join(folder, "hostile <b>.json");
  writeFileSync(file, text);
  const path = makePage("hostile", file);
  assert.ok(readFileSync(path).length < 1 << 20, "the long name was cut");
  const { page, wrong, close } = await openPage(path);
  await openTab(page, "Timeline");
  await page.locator(".timeline canvas").waitFor();
  await page.locator(".timeline canvas").focus();
  for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft", "f"]) await page.keyboard.press(key);
  await openTab(page, "Tables");
  await page.getByRole("tab", { name: "Kernels", exact: true }).click();
  const shown = await page.locator("table.sortable tbody td:first-child").evaluateAll((cells) => cells.map((td) => td.title));
  for (const name of names.slice(0, 4)) assert.ok(shown.includes(name), `${name} is shown as it is`);
  assert.ok(shown.some((name) => name.endsWith("(10,485,760 bytes)")), "and says how long it was");
  for (const table of ["Operators", "Shapes", "Modules"]) await page.getByRole("tab", { name: table, exact: true }).click();
  await checkFlames(page);
  assert.equal(await page.locator("#app img, #app script").count(), 0);
  assert.deepEqual(wrong, []);
  await close();
});

test("a damaged page says so in words", async () => {
  const whole = readFileSync(makePage("whole", data("cases/A00_good.json")), "utf8");
  const open = async (text, name) => {
    const path = join(folder, `${name}.html`);
    writeFileSync(path, text);
    return openPage(path);
  };
  const start = whole.indexOf('id="stepscope-document">') + 24;
  const broken = await open(`${whole.slice(0, start + 40)}AAAA${whole.slice(start + 44)}`, "broken");
  assert.match(await broken.page.getByRole("alert").innerText(), /data in this page are damaged/);
  await broken.close();
  const empty = await open(whole.replace(/<script type="application\/octet-stream"[^<]*<\/script>/g, ""), "empty");
  assert.match(await empty.page.getByRole("alert").innerText(), /holds no recording/);
  await empty.close();
});

test("the policy lets no other script run", async () => {
  const whole = readFileSync(makePage("policy", data("cases/A00_good.json")), "utf8");
  const path = join(folder, "injected.html");
  writeFileSync(path, whole.replace('<div id="app">', '<script>document.documentElement.dataset.ran = "yes"</script><img src="https://example.org/x.png"><div id="app">'));
  const { page, wrong, close } = await openPage(path);
  await page.locator("h1").waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.ran ?? "no"), "no");
  assert.ok(wrong.some((line) => /Content Security Policy/.test(line)));
  await close();
});

test("two runs compared: the answer, both steps on one scale, tables that sort", async () => {
  const sides = [data("h200/ddp_rank0.pt.trace.json.gz"), data("h200/ddp_rank1.pt.trace.json.gz"), "--vs",
    data("h200/straggler_rank0.pt.trace.json.gz"), data("h200/straggler_rank1.pt.trace.json.gz")];
  const path = join(folder, "difference.html");
  run("diff", ...sides, "--html", path, "--top", "0");
  const document = JSON.parse(run("diff", ...sides, "--json"));
  const { page, wrong, close } = await openPage(path);
  assert.equal(await page.locator(".verdict .sentence").innerText(), document.answer);
  const rank = document.explaining_rank;
  const cards = page.locator("article.finding");
  assert.equal(await cards.count(), rank.findings.length);
  assert.equal(await cards.first().locator(".id").innerText(), rank.findings[0].id);
  const bars = page.locator(".difference-side .bar:not(.small)");
  assert.equal(await bars.count(), 2);
  const [a, b] = [await bars.nth(0).boundingBox(), await bars.nth(1).boundingBox()];
  const drawn = a.width / b.width;
  const true_ratio = rank.mean_step.before_ns / rank.mean_step.after_ns;
  assert.ok(Math.abs(drawn - true_ratio) < 0.01, `${drawn} is ${true_ratio}`);
  const work = page.locator("section", { has: page.locator("#h-work") });
  assert.equal(await work.locator("tbody tr").count(), rank.work.length);
  const first = rank.work.reduce((most, row) => (Math.abs(row.difference_ns) > Math.abs(most.difference_ns) ? row : most));
  const identity = first.match === "gone" ? first.before : first.after;
  assert.equal(await work.locator("tbody tr").first().locator("td").first().innerText(), identity.operator);
  await work.getByRole("button", { name: /^operator/ }).click();
  const names = await work.locator("tbody tr td:first-child").allInnerTexts();
  assert.deepEqual(names, [...names].sort((x, y) => x.localeCompare(y)));
  await work.getByRole("searchbox").fill("_foreach_mul_");
  assert.ok((await work.locator("tbody tr").count()) >= 1);
  assert.deepEqual(wrong, []);
  await close();
});

// Of the page's two timelines: what stands where.
function pairOf(page) {
  return page.evaluate(() => {
    const { first, second } = window.stepscope.pair;
    const side = (t) => ({
      selected: t.selection && [t.selection.kind, ...t.timesOf(t.selection)],
      x: t.selection && t.view.x(t.timesOf(t.selection)[0]),
      perPixel: t.view.perPixel,
      steps: t.model.steps.map((s) => [s.number, t.view.x(s.start), t.view.x(s.end), s.end - s.start]),
      gpu: t.model.gpu.count,
    });
    return [side(first), side(second)];
  });
}

async function checkSides(page, document) {
  await page.locator(".sides canvas").nth(1).waitFor();
  const rank = document.explaining_rank ?? document.typical_rank;
  await page.waitForFunction(() => window.stepscope?.pair.second.view.perPixel === window.stepscope?.pair.first.view.perPixel);
  // Both begin at one place, and a step is as many times as long to the eye as it is.
  const median = (side) => [...side.steps].sort((a, b) => a[3] - b[3])[(side.steps.length - 1) >> 1];
  const [a, b] = (await pairOf(page)).map((side) => median(side));
  assert.ok(Math.abs(a[1] - b[1]) < 0.01, "both steps begin at one place");
  const drawn = (b[2] - b[1]) / (a[2] - a[1]);
  assert.ok(Math.abs(drawn - rank.after.step_median_ns / rank.before.step_median_ns) < 0.02, `${drawn}`);
  for (const [i, name] of ["A", "B"].entries()) {
    const picker = page.getByLabel(`step of ${name}`);
    assert.ok((await picker.locator("option:checked").innerText()).startsWith(`${[a, b][i][0]}:`));
  }
  // One moves the other.
  await page.locator(".sides canvas").nth(1).focus();
  await page.keyboard.press("w");
  await page.keyboard.press("d");
  await page.keyboard.up("d");
  await page.waitForFunction(() => Math.abs(window.stepscope.pair.second.view.perPixel - window.stepscope.pair.first.view.perPixel) < 1e-6);
  await page.getByRole("button", { name: "Whole step" }).click();
  // Another step goes where the first was.
  await page.getByLabel("step of B").selectOption({ index: 0 });
  const other = (await pairOf(page))[1].steps[0];
  assert.ok(Math.abs(other[1] - a[1]) < 2, `${other[1]} is ${a[1]}`);
  // A row of the table, by the keyboard: both timelines show it, one above the other.
  const row = rank.work.find((w) => w.before && w.after && w.match === "same" && w.before_call_count >= 1 && w.after_call_count >= 1);
  const work = page.locator("section", { has: page.locator("#h-work") });
  await work.getByRole("searchbox").fill(row.before.kernel.slice(0, 60));
  const button = work.getByRole("button", { name: row.before.operator ?? row.before.kernel, exact: true }).first();
  await button.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("status").filter({ hasText: "A 1 of" }).waitFor();
  await page.waitForFunction(() => window.stepscope.pair.first.selection && window.stepscope.pair.second.selection);
  const [shownA, shownB] = await pairOf(page);
  assert.equal(shownA.selected[0], "gpu");
  assert.ok(Math.abs(shownA.x - shownB.x) < 0.01, "the operator begins at one place");
  assert.ok(shownA.x > 0 && shownA.x < 1200, "and is in sight");
  assert.ok(await page.locator(".sides canvas").first().evaluate((canvas) => document.activeElement === canvas));
  const before = shownA.selected[1];
  if (await page.getByRole("button", { name: "Next occurrence" }).isEnabled()) {
    await page.getByRole("button", { name: "Next occurrence" }).click();
    await page.waitForFunction((start) => window.stepscope.pair.first.timesOf(window.stepscope.pair.first.selection)[0] > start, before);
  }
  await page.getByLabel("aligned there").uncheck();
  await page.getByRole("button", { name: "back to the table" }).click();
  assert.ok(await button.evaluate((element) => document.activeElement === element), "the way back");
}

test("both timelines of a difference move as one, and a row of it leads to them", async () => {
  const sides = [data("h200/loader.pt.trace.json.gz"), data("h200/solid.pt.trace.json.gz")];
  const path = join(folder, "sides.html");
  run("diff", ...sides, "--html", path, "--top", "0");
  const { page, wrong, close } = await openPage(path);
  await checkSides(page, JSON.parse(run("diff", ...sides, "--json")));
  assert.deepEqual(wrong, []);
  await close();
});

test("a snapshot's page ranks allocator settings as the program does", async () => {
  const file = data("memory/h200/snap.oom.pickle.gz");
  const { page, wrong, close } = await openPage(makePage("settings", file));
  await page.locator(".memory canvas").waitFor();
  const { what_if, settings } = JSON.parse(run("memory", file, "--what-if", "--json"));
  const section = page.locator("section", { has: page.locator("#h-what-if") });
  const rows = await section.locator("tbody tr").evaluateAll((all) => all.map((tr) => [...tr.cells].map((td) => td.innerText.trim())));
  assert.deepEqual(rows.map((row) => row[0].replace(" (recorded)", "")), what_if.map((row) => row.settings));
  assert.equal(rows.filter((row) => row[0] === `${settings} (recorded)`).length, 1);
  const titles = await section.locator("th").allInnerTexts();
  const column = (name) => titles.findIndex((title) => title.startsWith(name));
  for (const [i, row] of rows.entries()) {
    const { oom, retries, reserved_peak_bytes } = what_if[i];
    assert.equal(row[column("the requests")], oom ? `fails at event ${oom.entry.toLocaleString("en-US")}` : "all served");
    assert.equal(row[column("retries")], String(retries));
    assert.ok(Math.abs(Number(row[column("reserved peak")].split(" ")[0]) - reserved_peak_bytes / 2 ** 30) < 0.006);
  }
  await section.getByRole("button", { name: /^at event/ }).first().click();
  await page.getByRole("heading", { name: /^Held at event/ }).waitFor();
  assert.deepEqual(wrong, []);
  await close();
});

test("two recordings that are no ranks of one run are A and B as they were named", async () => {
  const sides = [data("h200/solid.pt.trace.json.gz"), data("h200/loader.pt.trace.json.gz")];
  const { page, wrong, close } = await openPage(makePage("two", ...sides));
  const document = JSON.parse(run("diff", ...sides, "--json"));
  await openTab(page, "Difference");
  assert.equal(await page.locator(".verdict .sentence").innerText(), document.answer);
  await page.locator(".sides canvas").nth(1).waitFor();
  const files = await page.locator(".side h3 span").allInnerTexts();
  assert.deepEqual(files, ["solid.pt.trace.json.gz", "loader.pt.trace.json.gz"]);
  const counts = sides.map((file) => JSON.parse(run("report", file, "--json")).ledger.gpu_event_count);
  assert.deepEqual((await pairOf(page)).map((side) => side.gpu), counts);
  assert.deepEqual(wrong, []);
  await close();
});
