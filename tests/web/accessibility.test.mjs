// What a screen reader gets of each view, from Chromium's own accessibility tree: controls with names, headings in
// order, tables with headers, one panel for the tabs, and regions that speak when a selection changes.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { closeBrowser, data, folder, makePage, openPage, openTab, run } from "./browser.mjs";

after(closeBrowser);

const kControls = new Set(["button", "link", "checkbox", "radio", "textbox", "searchbox", "combobox", "tab", "application", "img", "image", "Canvas"]);

async function tree(page) {
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send("Accessibility.getFullAXTree");
  await session.detach();
  const byId = new Map(nodes.map((node) => [node.nodeId, node]));
  const property = (node, name) => node.properties?.find((each) => each.name === name)?.value.value;
  const inOrder = [];
  const visit = (id, live) => {
    const node = byId.get(id);
    if (!node) return;
    const role = node.role?.value ?? "";
    const own = property(node, "live");
    const spoken = own && own !== "off" ? own : live;
    if (!node.ignored) inOrder.push({ id, role, name: (node.name?.value ?? "").trim(), level: property(node, "level"), selected: property(node, "selected"), live: spoken, children: node.childIds ?? [] });
    for (const child of node.childIds ?? []) visit(child, spoken);
  };
  visit(nodes[0].nodeId, "");
  const under = (id) => (byId.get(id)?.childIds ?? []).flatMap((child) => [byId.get(child), ...under(child)]).filter(Boolean);
  return { nodes: inOrder, roles: (id) => under(id).map((node) => node.role?.value) };
}

async function check(page, where) {
  const { nodes, roles } = await tree(page);
  for (const node of nodes) {
    if (kControls.has(node.role)) assert.notEqual(node.name, "", `${where}: a ${node.role} without a name`);
  }
  const levels = nodes.filter((node) => node.role === "heading").map((node) => node.level);
  assert.equal(levels[0], 1, `${where}: begins with its title`);
  for (const [i, level] of levels.entries()) {
    assert.ok(i === 0 || (level > 1 && level <= levels[i - 1] + 1), `${where}: headings ${levels.slice(0, i + 1).join(" ")}`);
  }
  const tables = nodes.filter((node) => node.role === "table");
  for (const table of tables) assert.ok(roles(table.id).includes("columnheader"), `${where}: a table without headers`);
  const tabs = nodes.filter((node) => node.role === "tab");
  const panel = nodes.filter((node) => node.role === "tabpanel");
  assert.equal(panel.length, 1, `${where}: one panel`);
  assert.ok(tabs.some((tab) => tab.selected && tab.name === panel[0].name), `${where}: the panel is named by its tab`);
  return { tables: tables.length, headings: levels.length };
}

// Something in a live region has this text.
async function speaks(page, text) {
  const { nodes } = await tree(page);
  const isText = (node) => node.role === "StaticText" || node.role === "term";
  const spoken = nodes.filter((node) => node.live && isText(node)).map((node) => node.name).join(" ");
  assert.match(spoken.replace(/\s+/g, " "), text);
}

test("a recording's views", async () => {
  const { page, close } = await openPage(makePage("spoken", data("h200/memspike.pt.trace.json.gz")));
  await page.locator(".steps svg").waitFor();
  assert.ok((await check(page, "overview")).headings > 5);
  await openTab(page, "Timeline");
  await page.locator(".timeline canvas").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.locator(".facts").waitFor();
  await check(page, "timeline");
  await speaks(page, /length/);
  await page.getByLabel("search").fill("mm");
  await speaks(page, /\d+ events of \d+ names/);
  await openTab(page, "Tables");
  for (const name of ["Operators", "Kernels", "Shapes"]) {
    await page.getByRole("tab", { name, exact: true }).click();
    assert.equal((await checkTables(page, name)), 1);
  }
  await speaks(page, /\d rows/);
  await openTab(page, "Flame graph");
  await page.locator(".flame canvas").waitFor();
  await check(page, "flame graph");
  await openTab(page, "Memory");
  await page.locator(".memory canvas").waitFor();
  await check(page, "memory");
  await speaks(page, /Held at/);
  await close();
});

// Tabs inside a tab's panel: theirs is the table.
async function checkTables(page, where) {
  const { nodes, roles } = await tree(page);
  const tables = nodes.filter((node) => node.role === "table");
  for (const table of tables) assert.ok(roles(table.id).includes("columnheader"), `${where}: a table without headers`);
  for (const node of nodes) if (kControls.has(node.role)) assert.notEqual(node.name, "", `${where}: a ${node.role} without a name`);
  return tables.length;
}

test("a snapshot, ranks, and a difference", async () => {
  const snapshot = await openPage(makePage("snapshot", data("memory/C10_oom_fragmented.pickle")));
  await snapshot.page.locator(".memory canvas").waitFor();
  await check(snapshot.page, "snapshot");
  await snapshot.close();
  const ranks = await openPage(makePage("ranks", ...[0, 1].map((rank) => data(`h200/straggler_rank${rank}.pt.trace.json.gz`))));
  await openTab(ranks.page, "Ranks");
  await ranks.page.locator(".ranks canvas").last().waitFor();
  assert.ok((await check(ranks.page, "ranks")).tables >= 4);
  await ranks.page.locator(".ranks canvas").first().focus();
  await ranks.page.keyboard.press("ArrowRight");
  await ranks.page.getByRole("status").filter({ hasText: "rank 1, step 4" }).waitFor();
  await speaks(ranks.page, /rank 1, step 4/);
  await ranks.close();
  const path = join(folder, "difference.html");
  run("diff", data("h200/loader.pt.trace.json.gz"), data("h200/solid.pt.trace.json.gz"), "--html", path, "--top", "0");
  const difference = await openPage(path);
  await difference.page.locator(".sides canvas").nth(1).waitFor();
  await check(difference.page, "difference");
  await difference.page.locator(".sides canvas").first().focus();
  await difference.page.keyboard.press("ArrowDown");
  await difference.page.locator(".sides .facts").waitFor();
  await speaks(difference.page, /length/);
  await difference.close();
});
