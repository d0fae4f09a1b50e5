// Presses everything that can be pressed in every view of each kind of page, and compares what the other tests leave: the tables
// whole, by what they copy; the overview's figures; what memory was held; the parts of a difference.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { closeBrowser, data, folder, makePage, openPage, openTab, run } from "./browser.mjs";
import { number, rowsOfCsv, shows } from "./numbers.mjs";

after(closeBrowser);

const h200 = (name) => data(`h200/${name}.pt.trace.json.gz`);

// In the page itself, a control a frame. Of controls that differ only in their row (bars, links of a list) the first two; what leads
// to another view is followed, and the view opened again. Returns what was pressed, by view.
// Of the views that are not asked for only that they open.
const press = (page, wanted) =>
  page.evaluate(async (wanted) => {
    const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    const name = (e) => (e.getAttribute("aria-label") || e.closest("label")?.textContent || e.textContent || "").trim().slice(0, 60);
    const kind = (e) => (e.matches(".link, g") ? `${e.tagName} ${e.closest("section, table")?.getAttribute("aria-labelledby")}` : name(e).replace(/[▲▼]|\d+/g, ""));
    const pressed = {};
    const tabs = [...document.querySelectorAll("header [role=tab]")];
    const ready = async () => {
      for (let i = 0; i < 200; i++) {
        await frame();
        if (!/Unpacking/.test(document.getElementById("view").textContent)) return;
      }
      throw new Error("not unpacked");
    };
    for (const tab of tabs) {
      tab.click();
      await ready();
      const view = document.getElementById("view");
      if (!wanted.includes(tab.textContent.trim())) continue;
      const here = view.className;
      const done = new Set();
      const times = {};
      // What a press opens is pressed too, until nothing is new.
      for (;;) {
        const next = [...view.querySelectorAll("button, input, select, g[role=button], summary")].find((e) => {
          return !e.disabled && !done.has(name(e)) && (times[kind(e)] ?? 0) < 2;
        });
        if (!next || done.size > 200) break;
        times[kind(next)] = (times[kind(next)] ?? 0) + 1;
        done.add(name(next));
        if (next.tagName === "SELECT") {
          next.selectedIndex = next.options.length - 1;
          next.dispatchEvent(new Event("change", { bubbles: true }));
        } else if (next.type === "search" || next.type === "text") {
          next.value = "a";
          next.dispatchEvent(new Event("input", { bubbles: true }));
        } else if (next.tagName === "g") next.dispatchEvent(new MouseEvent("click", { bubbles: true }));
        else next.click();
        await frame();
        if (view.className !== here) {
          tab.click();
          await ready();
        }
      }
      for (const canvas of view.querySelectorAll("canvas")) {
        const box = canvas.getBoundingClientRect();
        for (const [type, make] of [["pointermove", PointerEvent], ["pointerdown", PointerEvent], ["pointerup", PointerEvent], ["click", MouseEvent], ["dblclick", MouseEvent], ["wheel", WheelEvent], ["pointerleave", PointerEvent]])
          canvas.dispatchEvent(new make(type, { bubbles: true, cancelable: true, clientX: box.left + box.width / 2, clientY: box.top + box.height / 2, deltaY: -300 }));
        for (const key of ["w", "d", "ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp", "f", "0", "Escape", "PageDown", "PageUp"]) {
          canvas.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
          canvas.dispatchEvent(new KeyboardEvent("keyup", { key, bubbles: true }));
        }
        await frame();
      }
      pressed[tab.textContent.trim()] = [...done];
    }
    document.querySelector("header .theme").click();
    await frame();
    return pressed;
  }, wanted);

// Each kind of page, and what must be among what was pressed, so that a view that lost its controls is noticed.
const pages = {
  recording: [() => [h200("loader")], {
    Overview: [/show on the timeline/i, /^step \d/],
    Timeline: [/launch arrows/, /Show all/, /Keys/, /search/, /Next match|Previous match/],
    Tables: [/Operators/, /Kernels/, /Shapes/, /Modules/, /filter/, /Copy as CSV/, /GPU time/, /CPU time/, /count/],
    "Flame graph": [/GPU time/, /CPU time/, /Python stack/, /module/, /operator/, /highlight/, /Whole graph/],
    Memory: [/category/, /line/, /allocator event/, /time/, /Peak/, /End/],
  }],
  stacks: [() => [h200("solid4_stack")], { Timeline: [/Python frames/], Tables: [/Modules/] }],
  snapshot: [() => [data("memory/h200/snapx.oom.pickle.gz")], { Memory: [/Out of memory/, /show that moment/, /at event/, /reserved peak/] }],
  devices: [() => [data("memory/C09_many_devices.pickle")], { Memory: [/GPU/] }],
  ranks: [() => [h200("straggler_rank0"), h200("straggler_rank1")], { Ranks: [/latest first/, /by rank/, /rank 0/, /Copy as CSV/, /late/] }],
  difference: [() => [h200("loader"), h200("solid")], { Difference: [/step of A|step of B|\d+: /, /Whole step/, /Copy as CSV/, /matmul|idle/], Recordings: [/loader|solid/] }],
};

for (const [name, [files, wanted]] of Object.entries(pages)) {
  test(`every control of a page: ${name}`, async () => {
    const { page, wrong, close } = await openPage(makePage(`controls-${name}`, ...files()));
    await page.locator("h1").waitFor();
    const pressed = await press(page, Object.keys(wanted));
    for (const [view, names] of Object.entries(wanted))
      for (const each of names) assert.ok(pressed[view]?.some((one) => each.test(one)), `${view}: ${each} among ${pressed[view]?.join(" | ")}`);
    await page.locator("html[data-theme=dark]").waitFor();
    // Paper is white whatever the screen was.
    await page.emulateMedia({ media: "print" });
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).color), "rgb(27, 31, 36)");
    await page.emulateMedia({ media: "screen" });
    // Tabs by the keyboard, around the end.
    const tabs = page.locator("header [role=tab]");
    await tabs.last().click();
    await page.keyboard.press("ArrowRight");
    await page.locator("header [role=tab][aria-selected=true]").and(tabs.first()).waitFor();
    assert.deepEqual(wrong, []);
    await close();
  });
}

test("what was not recorded is said", async () => {
  const { page, wrong, close } = await openPage(makePage("bare", data("planted/checkpoint.pt.trace.json.gz")));
  await openTab(page, "Tables");
  await page.getByRole("tab", { name: "Modules", exact: true }).click();
  await page.getByText(/No modules were recorded; these are the outermost operators/).waitFor();
  await openTab(page, "Flame graph");
  await page.getByLabel("module", { exact: true }).check();
  await page.getByText(/No modules were recorded: record with with_stack=True/).waitFor();
  assert.deepEqual(wrong, []);
  await close();
});

test("what to record with is told by the tool that made the file", async () => {
  for (const [name, path, words] of [
    ["jax", "jax/vm.trace.json.gz", "record with python_tracer_level = 1"],
    ["capture", "capture/cpu_v1_0.stepscope", "record with stepscope run --shapes"],
  ]) {
    const { page, wrong, close } = await openPage(makePage(name, data(path)));
    await openTab(page, "Tables");
    await page.getByRole("tab", { name: "Shapes", exact: true }).click();
    const shapes = await page.getByText(/No shapes were recorded/).innerText();
    await openTab(page, "Flame graph");
    await page.getByLabel("Python stack", { exact: true }).check();
    const said = `${shapes} ${await page.locator("main").innerText()}`;
    assert.ok(said.includes(words), said);
    assert.ok(!said.includes("with_stack=True"), said);
    assert.deepEqual(wrong, []);
    await close();
  }
});

test("steps that the recording skips are a gap between the bars, and said", async () => {
  const path = join(folder, "skipped.json");
  const whole = readFileSync(data("cases/A00_good.json"), "utf8");
  writeFileSync(path, whole.replaceAll("ProfilerStep#5", "ProfilerStep#9").replaceAll("ProfilerStep#4", "ProfilerStep#5"));
  const { page, wrong, close } = await openPage(makePage("skipped", path));
  await page.getByText("Steps #4, #6 to #8 are missing in the recording").waitFor();
  await page.getByText(/steps 3 to 9, not all/).waitFor();
  assert.equal(await page.locator(".steps .gap").count(), 2);
  await page.getByRole("img", { name: "steps 6 to 8 are missing in the recording" }).waitFor();
  const boxes = await Promise.all((await page.locator(".steps .step, .steps .gap").all()).map((each) => each.boundingBox()));
  boxes.sort((a, b) => a.x - b.x);
  for (let i = 1; i < boxes.length; i++) assert.ok(boxes[i].x >= boxes[i - 1].x + boxes[i - 1].width - 1, `${i} overlaps`);
  assert.deepEqual(wrong, []);
  await close();
});

test("the details of a kernel are what the recording has of it", async () => {
  const file = h200("solid4_stack");
  const table = (name) => rowsOfCsv(run("convert", file, "-o", "-", "--to", "csv", "--table", name));
  const kernels = table("gpu_events").filter((row) => row.name.startsWith("nvjet") && row.op !== "" && row.call !== "");
  const kernel = kernels[kernels.length >> 1];
  const call = table("calls").find((row) => row.row === kernel.call);
  const operator = table("ops").find((row) => row.row === kernel.op);
  const { page, wrong, close } = await openPage(makePage("details", file));
  await openTab(page, "Timeline");
  await page.locator(".timeline canvas").waitFor();
  await page.waitForFunction(() => window.stepscope?.timeline);
  const found = await page.evaluate((start) => {
    const { timeline, model } = window.stepscope;
    const row = model.gpu.start.indexOf(Number(BigInt(start) - BigInt(model.directory.origin_ns)));
    if (row >= 0) timeline.select({ kind: "gpu", row }, true);
    return row;
  }, kernel.start_ns);
  assert.ok(found >= 0, "the event is in the page");
  await page.locator(".facts").waitFor();
  const facts = Object.fromEntries(await page.locator(".facts dt").evaluateAll((all) => all.map((dt) => [dt.textContent, dt.nextElementSibling.innerText])));
  const between = (from, to) => Number(BigInt(to) - BigInt(from));
  shows(facts.length, between(kernel.start_ns, kernel.end_ns), "length");
  const [, launcher, latency] = /^(.+), (.+) earlier \(launch latency\)$/.exec(facts["launched by"]);
  assert.equal(launcher, call.name);
  shows(latency, between(call.start_ns, kernel.start_ns), "launch latency");
  assert.equal(facts.operator, operator.name);
  assert.ok(facts["input shapes"].replace(/\s/g, "").startsWith(operator.shapes.replace(/\s/g, "")), `${facts["input shapes"]} is ${operator.shapes}`);
  assert.match(facts.launch, new RegExp(`grid ${kernel.grid_x} × ${kernel.grid_y} × ${kernel.grid_z}, block ${kernel.block_x} `));
  // A link leads to the call, and from there back.
  await page.locator(".facts").getByRole("button", { name: call.name }).first().click();
  await page.locator(".facts dt", { hasText: "launched" }).first().waitFor();
  await page.locator(".panel .event", { hasText: call.name }).waitFor();
  assert.deepEqual(wrong, []);
  await close();
});

async function copied(page, table) {
  await page.getByRole("tab", { name: table, exact: true }).click();
  await page.getByRole("button", { name: "Copy as CSV" }).click();
  await page.getByText(/copied as CSV/).waitFor();
  return rowsOfCsv(await page.evaluate(() => navigator.clipboard.readText()));
}

test("tables, figures and flames have the numbers of the report", async () => {
  const file = h200("solid4_stack");
  const report = JSON.parse(run("report", file, "--json", "--top", "1000000"));
  const modules = JSON.parse(run("ops", file, "--by", "module", "--json")).rows;
  const { page, wrong, close } = await openPage(makePage("numbers", file));
  const [device] = report.devices;
  const figure = (label) => page.locator(".figures > div", { has: page.locator("dt", { hasText: label }) }).locator("strong").innerText();
  shows(await figure("GPU busy"), device.gpu_busy_ns / device.window_ns, "GPU busy");
  shows(await figure("MFU"), report.efficiency.mfu_ratio, "MFU");
  shows(await figure("median kernel"), report.launches.median_kernel_ns, "median kernel");
  shows(await figure("memory peak"), report.memory.devices[0].allocated_peak.bytes, "memory peak");
  const parts = await page.locator(".legend li").evaluateAll((all) => all.map((li) => [li.firstChild.nextSibling.textContent.trim(), li.querySelector("b").textContent]));
  const ofStep = (ns) => ns / report.steps.count;
  for (const [kind, ns] of Object.entries(device.busy_by_kind_ns)) {
    const part = parts.find(([label]) => label === kind);
    if (part) shows(part[1], ofStep(ns), kind);
  }
  assert.ok(parts.length > 8);

  await openTab(page, "Tables");
  const ns = (text) => Number(text);
  const kernels = await copied(page, "Kernels");
  assert.deepEqual(kernels.map((row) => [row.name, ns(row.total_ns), Number(row.count), row.kind]), report.tables.kernels.map((k) => [k.name, k.total_ns, k.count, k.kind.replaceAll("_", " ")]));
  const operators = await copied(page, "Operators");
  const known = new Map([...report.tables.operators_by_device_time, ...report.tables.operators_by_cpu_time].map((o) => [o.name, o]));
  assert.equal(operators.length, report.tables.operator_name_count);
  for (const row of operators) {
    const { count, self_device_ns, self_cpu_ns } = known.get(row.name);
    assert.deepEqual([Number(row.count), ns(row.self_device_ns), ns(row.self_cpu_ns)], [count, self_device_ns, self_cpu_ns], row.name);
  }
  const shapes = await copied(page, "Shapes");
  assert.ok(shapes.length > operators.length);
  assert.equal(shapes.reduce((sum, row) => sum + ns(row.self_device_ns), 0), report.tables.operator_device_total_ns);
  const copiedModules = await copied(page, "Modules");
  assert.ok(copiedModules.length > 10);
  for (const row of copiedModules) {
    const of = modules.find((each) => each.key === row.name || each.key === `nn.Module: ${row.name}`);
    assert.ok(of, row.name);
    assert.equal(ns(row.device_ns), Math.round(of.device_time_total * 1000), row.name);
  }

  await openTab(page, "Flame graph");
  await page.getByLabel("operator", { exact: true }).check();
  const [name, own] = await page.locator("table.plain tbody tr").first().locator("td").allInnerTexts();
  assert.equal(name, report.tables.kernels[0].name);
  shows(own, report.tables.kernels[0].total_ns, "the heaviest kernel");
  assert.deepEqual(wrong, []);
  await close();
});

test("a snapshot's page holds what the program says was held", async () => {
  const file = data("memory/h200/snapx.oom.pickle.gz");
  const { devices, live, categories } = JSON.parse(run("memory", file, "--json"));
  const { page, wrong, close } = await openPage(makePage("held", file));
  await page.locator(".memory canvas").waitFor();
  const rows = (table) => page.locator("table.held").nth(table).locator("tbody tr").evaluateAll((all) => all.map((tr) => [tr.cells[0].title, tr.cells[1].innerText, tr.cells[3].innerText]));
  const lines = await rows(1);
  assert.deepEqual(lines.map(([line, , count]) => [line, number(count)]), live.groups.map((group) => [group.name, group.count]));
  for (const [i, [line, bytes]] of lines.entries()) shows(bytes, live.groups[i].bytes, line);
  const held = await rows(0);
  assert.deepEqual(held.map(([category]) => category), categories.map(({ category }) => category.replaceAll("_", " ")));
  for (const [i, [category, bytes]] of held.entries()) shows(bytes, categories[i].bytes, category);
  const [{ segments, fragmentation }] = devices;
  const said = await page.locator("section", { has: page.getByRole("heading", { name: "Segments at the end" }) }).locator("p").first().innerText();
  const [, count, free, pieces, largest] = /^([\d,]+) segments; (.+?) of them are free in ([\d,]+) pieces, the largest (.+?)\. /.exec(said);
  assert.deepEqual([number(count), number(pieces)], [segments, fragmentation.free_piece_count]);
  shows(free, fragmentation.free_bytes, "free");
  shows(largest, fragmentation.largest_free_bytes, "the largest piece");
  assert.deepEqual(wrong, []);
  await close();
});

test("a difference's parts are those of the program", async () => {
  const files = [h200("loader"), h200("solid")];
  const { typical_rank: rank } = JSON.parse(run("diff", ...files, "--json"));
  const { page, wrong, close } = await openPage(makePage("parts", ...files));
  await openTab(page, "Difference");
  await page.locator("#h-parts").waitFor();
  const rows = await page.locator("section", { has: page.locator("#h-parts") }).locator("tbody tr").evaluateAll((all) => all.map((tr) => [...tr.cells].slice(1, 4).map((td) => td.innerText)));
  const parts = [rank.busy_by_class, rank.idle_by_cause].flatMap(Object.values).sort((a, b) => Math.abs(b.difference_ns) - Math.abs(a.difference_ns));
  assert.equal(rows.length, parts.length);
  for (const [i, [change, before, after]] of rows.entries()) {
    shows(change.replace("+", ""), parts[i].difference_ns, "change");
    shows(before, parts[i].before_ns, "A");
    shows(after, parts[i].after_ns, "B");
  }
  assert.deepEqual(wrong, []);
  await close();
});
