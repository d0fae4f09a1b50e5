// What the tests of pages share: making a page, opening it in Debian's Chromium, and noticing what it must not do.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
export const root = join(here, "../..");
export const program = process.env.STEPSCOPE_PROGRAM ?? join(root, "build/release/stepscope");
const { chromium } = await import(pathToFileURL(join(root, "web/node_modules/playwright-core/index.mjs")));

export const folder = mkdtempSync(join(tmpdir(), "stepscope-web-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

export function data(path) {
  return join(root, "tests/data", path);
}

// Status 4 is a page too: of a recording that lost something.
export function run(...words) {
  try {
    return execFileSync(program, words, { maxBuffer: 1 << 30, stdio: ["ignore", "pipe", "pipe"] }).toString();
  } catch (error) {
    if (error.status === 4) return error.stdout.toString();
    throw new Error(`stepscope ${words.join(" ")}: ${error.status} ${error.stderr}`);
  }
}

export function makePage(name, ...files) {
  const path = join(folder, `${name}.html`);
  run("view", ...files, "-o", path);
  return path;
}

// Chromium's sandbox needs user namespaces, which containers often lack, and refuses root. What is opened here is ours.
async function launch() {
  const executablePath = process.env.STEPSCOPE_CHROMIUM ?? "/usr/bin/chromium";
  const open = { executablePath, args: ["--no-sandbox"] };
  if (process.getuid() === 0) return chromium.launch(open);
  return chromium.launch({ executablePath }).catch(() => chromium.launch(open));
}

let browser = null;
export async function openBrowser() {
  browser ??= await launch();
  return browser;
}
export async function closeBrowser() {
  await browser?.close();
}

// A page, and the list of what went wrong in it: errors, warnings of the policy, requests to anywhere.
export async function openPage(path, options = {}) {
  const context = await (await openBrowser()).newContext({ viewport: { width: 1280, height: 900 }, ...options });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]).catch(() => {});
  const page = await context.newPage();
  const wrong = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") wrong.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => wrong.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    wrong.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("request", (request) => {
    const url = request.url();
    if (url !== pathToFileURL(path).href && !url.startsWith("data:")) wrong.push(`request: ${url.slice(0, 200)}`);
  });
  await page.goto(pathToFileURL(path).href);
  return { page, wrong, close: () => context.close() };
}

export async function openTab(page, name) {
  await page.getByRole("tab", { name, exact: true }).click();
}

// The page's own numbers, of the recording that its timeline shows.
export function model(page, read) {
  return page.evaluate(`(${read})(window.stepscope.model, window.stepscope.timeline)`);
}
