// node tools/make_pictures.mjs: draws the pictures of docs/view.md anew, from the recordings in tests/data, with the
// program of build/release (STEPSCOPE_PROGRAM names another) in Chromium, 1280 pixels wide.
//
// Kept small by a palette of 256 colours (that cover most: of the median cut, rare hues fade), made with Pillow (PYTHON names a Python that has it); a page is flat colours and
// text, so nothing is seen of it, and a picture has a third of its bytes. Where Pillow is missing this fails: pictures of
// another size would come into the repository unnoticed.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { closeBrowser, folder, makePage, openPage, openTab, root, run } from "../tests/web/browser.mjs";

const kShrink = `
import sys
from PIL import Image
for path in sys.argv[1:]:
    image = Image.open(path).convert("RGB")
    image.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)
`;
const out = (name) => join(root, "docs/view", `${name}.png`);
// Paths as a reader would type them: a page shows them.
process.chdir(root);
const h200 = (name) => `tests/data/h200/${name}.pt.trace.json.gz`;
const pictures = [];

// Opens a page, does what shows something, and takes so many pixels of it from the top.
async function picture(name, path, height, show, theme = "light") {
  const { page, wrong, close } = await openPage(path, { viewport: { width: 1280, height }, colorScheme: theme });
  await page.locator("h1").waitFor();
  await show(page);
  await page.mouse.move(640, 4);
  await page.waitForTimeout(400); // unpacked and drawn
  if (wrong.length > 0) throw new Error(`${name}: ${wrong.join("; ")}`);
  await page.screenshot({ path: out(name) });
  pictures.push(out(name));
  await close();
}

const loader = makePage("loader", h200("loader"));
const stack = makePage("stack", h200("solid4_stack"));

await picture("overview", loader, 1080, (page) => page.locator(".steps svg").waitFor());
await picture("timeline-evidence", loader, 820, async (page) => {
  await page.getByRole("button", { name: "Show on the timeline", exact: true }).first().click();
  await page.locator(".timeline canvas").waitFor();
}, "dark");
await picture("timeline-kernel", stack, 820, async (page) => {
  await openTab(page, "Timeline");
  await page.locator(".timeline canvas").waitFor();
  // A matmul in the middle of a step, with room around it.
  await page.evaluate(() => {
    const { timeline, model } = window.stepscope;
    const { gpu, host } = model;
    const rows = [...gpu.start.keys()].filter((row) => gpu.operator[row] > 0 && model.text(host.name[gpu.operator[row] - 1]) === "aten::addmm" && model.directory.kinds[gpu.kind[row]] === "matmul");
    const row = rows[Math.floor(rows.length / 2)];
    timeline.select({ kind: "gpu", row }, true);
    timeline.view.show(host.start[gpu.launch[row] - 1], gpu.end[row], 0.25);
    timeline.redraw();
  });
});
await picture("tables", loader, 620, (page) => openTab(page, "Tables"));
await picture("flame", stack, 620, async (page) => {
  await openTab(page, "Flame graph");
  await page.locator(".flame canvas").waitFor();
});
await picture("memory", makePage("memory", h200("memspike")), 640, async (page) => {
  await openTab(page, "Memory");
  await page.locator(".memory canvas").waitFor();
});
await picture("snapshot", makePage("snapshot", "tests/data/memory/h200/snapx.oom.pickle.gz"), 900, async (page) => {
  await page.locator("#h-what-if").waitFor();
  await page.evaluate(() => document.querySelector("#h-what-if").scrollIntoView());
});
await picture("ranks", makePage("ranks", h200("straggler_rank0"), h200("straggler_rank1")), 760, async (page) => {
  await openTab(page, "Ranks");
  await page.locator(".ranks canvas").first().waitFor();
}, "dark");
const difference = join(folder, "difference.html");
run("diff", h200("loader"), h200("solid"), "--html", difference, "--top", "0");
await picture("difference", difference, 900, async (page) => {
  await page.locator(".sides canvas").nth(1).waitFor();
  await page.evaluate(() => document.querySelector("#h-sides").scrollIntoView());
});
await closeBrowser();
execFileSync(process.env.PYTHON ?? "python3", ["-c", kShrink, ...pictures], { stdio: "inherit" });
