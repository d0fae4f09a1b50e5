// node tools/all_views.mjs FOLDER [NAME...]: every view of recordings and snapshots of tests/data, in both themes, 1280 and 2560 pixels
// wide, as FOLDER/NAME-VIEW-THEME-WIDTH.png: to look through after a change of the page, which no test does.
//
// Whole pages, since what overlaps or is cut is as often at their end; a canvas has its own height. Fails on any error or request, as
// the tests do. ImageMagick's `montage -label %t -tile 4x -geometry 800x` makes one sheet of several.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { closeBrowser, data, folder, makePage, openPage, openTab, run } from "../tests/web/browser.mjs";

const h200 = (name) => data(`h200/${name}.pt.trace.json.gz`);
const trace = (name, path) => () => makePage(name, path);
const pages = {
  loader: trace("loader", h200("loader")),
  stack: trace("stack", h200("solid4_stack")),
  graph: trace("graph", h200("graph")),
  memspike: trace("memspike", h200("memspike")),
  checkpoint: trace("checkpoint", data("planted/checkpoint.pt.trace.json.gz")),
  resnet: trace("resnet", h200("resnet_pageable")),
  jax: trace("jax", data("jax/vm.trace.json.gz")),
  capture: trace("capture", data("capture/cpu_v1_0.stepscope")),
  snapshot: trace("snapshot", data("memory/h200/snap.oom.pickle.gz")),
  snapshotx: trace("snapshotx", data("memory/h200/snapx.oom.pickle.gz")),
  ranks: () => makePage("ranks", h200("straggler_rank0"), h200("straggler_rank1")),
  two: () => makePage("two", h200("loader"), h200("solid")),
  summaries: () => {
    const summary = join(folder, "run.sss");
    const path = join(folder, "summaries.html");
    run("summarize", h200("straggler_rank0"), h200("straggler_rank1"), "-o", summary);
    run("report", summary, "--html", path);
    return path;
  },
};

// What each view must have shown before it is whole, and the choices inside it that are views of their own.
const ready = {
  Timeline: ".timeline canvas",
  "Flame graph": ".flame canvas, .flame p",
  Memory: ".memory canvas, .memory table",
  Ranks: ".ranks canvas",
  Difference: ".sides canvas",
};

async function shoot(page, path) {
  await page.mouse.move(640, 4);
  await page.waitForTimeout(250);
  await page.screenshot({ path, fullPage: true });
}

async function showTimeline(page, file) {
  await shoot(page, file("timeline"));
  // A kernel in the middle of the second step, as a click on it shows it.
  const found = await page.evaluate(() => {
    const { timeline, model } = window.stepscope;
    const row = Math.floor(model.gpu.count / 2);
    if (model.gpu.count === 0) return false;
    timeline.select({ kind: "gpu", row }, true);
    const [start, end] = timeline.timesOf({ kind: "gpu", row });
    timeline.view.show(start, end, 12);
    timeline.redraw();
    return true;
  });
  if (found) await shoot(page, file("timeline-event"));
}

async function showTables(page, file) {
  for (const name of ["Operators", "Kernels", "Shapes", "Modules"]) {
    await page.getByRole("tab", { name, exact: true }).click();
    await shoot(page, file(`tables-${name.toLowerCase()}`));
  }
}

async function showFlames(page, file) {
  const choices = await page.locator("fieldset").all();
  for (const time of await choices[0].getByRole("radio").all()) {
    for (const by of await choices[1].getByRole("radio").all()) {
      await time.check();
      await by.check();
      const words = (await page.locator("label:has(input:checked)").allInnerTexts()).join(" ").trim();
      await shoot(page, file(`flame-${words.replace(/\W+/g, "-").toLowerCase()}`));
    }
  }
}

const [out, ...wanted] = process.argv.slice(2);
if (!out) throw new Error("usage: node tools/all_views.mjs FOLDER [NAME...]");
mkdirSync(out, { recursive: true });
for (const name of wanted.length > 0 ? wanted : Object.keys(pages)) {
  const path = pages[name]();
  for (const width of [1280, 2560]) {
    for (const colorScheme of ["light", "dark"]) {
      const { page, wrong, close } = await openPage(path, { viewport: { width, height: width === 1280 ? 820 : 1340 }, colorScheme });
      await page.locator("h1").waitFor();
      for (const view of await page.getByRole("tab").allInnerTexts()) {
        if (["Operators", "Kernels", "Shapes", "Modules"].includes(view)) continue;
        await openTab(page, view);
        if (ready[view]) await page.locator(ready[view]).last().waitFor();
        const file = (shown) => join(out, `${name}-${shown}-${colorScheme}-${width}.png`);
        if (view === "Timeline") await showTimeline(page, file);
        else if (view === "Tables") await showTables(page, file);
        else if (view === "Flame graph") await showFlames(page, file);
        else await shoot(page, file(view.toLowerCase()));
      }
      if (wrong.length > 0) throw new Error(`${name}: ${wrong.join("; ")}`);
      await close();
    }
  }
}
await closeBrowser();
