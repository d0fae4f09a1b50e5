// Speedscope itself, in Chromium, opens what `convert` writes for it: its own format and folded stacks. SPEEDSCOPE names a folder of the
// npm package (npm install speedscope: node_modules/speedscope); it is no dependency of the page, so without the variable this is skipped.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { closeBrowser, data, folder, openBrowser, run } from "./browser.mjs";

after(closeBrowser);

const recording = data("h200/solid4_stack.pt.trace.json.gz");

// The table of speedscope's "sandwich": symbol, own and total time, the heaviest first.
async function opened(name) {
  const path = join(folder, name);
  run("convert", recording, "-o", path);
  const page = await (await openBrowser()).newPage();
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(error.message));
  page.on("console", (message) => message.type() === "error" && wrong.push(message.text()));
  page.on("dialog", (dialog) => (wrong.push(dialog.message()), dialog.dismiss()));
  await page.goto(pathToFileURL(join(process.env.SPEEDSCOPE, "dist/release/index.html")).href);
  await page.locator("input[type=file]").setInputFiles(path);
  await page.getByText("Sandwich").click();
  const title = await page.locator("body").innerText();
  const table = page.locator("table tr", { hasText: /%\)/ });
  await table.first().waitFor();
  const rows = (await table.allInnerTexts()).map((row) => row.split("\t").map((cell) => cell.trim()));
  await page.close();
  assert.deepEqual(wrong, []);
  return { path, title, rows: rows.map(([total, self, symbol]) => ({ total, self, symbol })) };
}

test("its own format", async () => {
  const { path, title, rows } = await opened("a.speedscope.json");
  const { profiles, activeProfileIndex = 0, shared } = JSON.parse(readFileSync(path, "utf8"));
  assert.ok(title.includes(`${profiles[activeProfileIndex].name} (${activeProfileIndex + 1}/${profiles.length})`), title);
  const names = new Set(shared.frames.map((frame) => frame.name));
  assert.ok(rows.length > 5);
  for (const { symbol } of rows) assert.ok(names.has(symbol), symbol);
});

for (const ending of ["folded", "gpu.folded"]) {
  test(`folded stacks: ${ending}`, async () => {
    const { path, rows } = await opened(`a.${ending}`);
    const own = new Map();
    for (const line of readFileSync(path, "utf8").trimEnd().split("\n")) {
      const [, stack, value] = /^(.*) (\d+)$/.exec(line);
      const leaf = stack.split(";").pop();
      own.set(leaf, (own.get(leaf) ?? 0) + Number(value));
    }
    for (const { symbol, self } of rows.slice(0, 10)) assert.equal(Number(self.split(" ")[0].replaceAll(",", "")), own.get(symbol) ?? 0, symbol);
  });
}
