// Unusual runs: hostile names, missing numbers, one checkpoint, one head, no summary.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { downloaded, launch, open, readCsv, readSummary, readTable, report, settled, shown } from "../browser.mjs";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

const HOSTILE = "</script><script>alert('label')</script><img src=x onerror=alert(1)>";
const VIEWS = ["overview", "explore", "flow", "table", "provenance"];

/** Opens every view; there must be no request, no error and no "undefined". */
async function walk(name) {
  const opened = await open(browser, report(name));
  const { page, noted } = opened;
  for (const view of VIEWS) {
    await page.evaluate((to) => (location.hash = `#view=${to}`), view);
    await settled(page);
    const text = await page.innerText("main");
    assert.doesNotMatch(text, /NaN|undefined|\[object|Infinity/, view);
  }
  assert.deepEqual(noted.errors, []);
  assert.equal(noted.requests.length, 1);
  return opened;
}

test("names that want to be markup are shown as text", async () => {
  const { page, noted, close } = await walk("hostile");
  assert.equal(await page.locator("img, main script, main b").count(), 0);
  assert.equal(await page.innerText("h1"), HOSTILE);
  await page.evaluate(() => (location.hash = "#view=overview"));
  await settled(page);
  assert.ok((await page.innerText("table.checkpoints")).includes(HOSTILE));
  for (const name of ["position_signal", "taxonomy"]) {
    await page.locator(`[data-figure="${name}"]`).scrollIntoViewIfNeeded();
    await page.waitForSelector(`[data-figure="${name}"].drawn`);
  }
  await page.evaluate((label) => (location.hash = `#${new URLSearchParams({ view: "table", at: label })}`), HOSTILE);
  await settled(page);
  assert.equal(await page.innerText(".where .now"), HOSTILE);
  const saved = await downloaded(page, () => page.click("text=Download CSV"));
  assert.match(saved.name, /^[\w.+-]+$/);
  const rows = readCsv(saved.bytes.toString());
  assert.deepEqual(rows, readTable("hostile").filter((row) => row.checkpoint === HOSTILE));
  assert.deepEqual(noted.errors, []);
  await close();
});

test("missing numbers are shown as missing", async () => {
  const { page, close } = await open(browser, report("hostile"), "#view=explore&head=2.3&colour=r_q");
  const rows = await page.$$eval(".head-numbers tbody tr", (all) => all.map((row) => row.innerText));
  for (const row of rows) assert.match(row, /no class\s+no_position\s+–\s+–\s+0\.\d+ ± 0\.\d+/s);
  assert.equal(await page.getAttribute('[aria-label="Layer 2, head 3: missing"]', "role"), "gridcell");
  // It was measured at nine of ten checkpoints.
  assert.equal(
    await page.getAttribute('[aria-label^="Layer 5, head 5"]', "aria-label"),
    "Layer 5, head 5: not measured",
  );
  // A value without an error is shown alone.
  await page.evaluate(() => (location.hash = "#view=explore&head=4.1"));
  await settled(page);
  const alone = readTable("hostile").find((row) => row.layer === "4" && row.q_head === "1" && row.pc === "0");
  assert.equal(await page.innerText(".head-numbers tbody tr >> nth=0 >> td >> nth=2"), shown(alone.r_q));
  assert.match(await page.innerText(".portrait-card"), /1 head has no r_q or no r_k here/);
  await close();
});

for (const name of ["one_checkpoint", "one_head", "bare"]) {
  test(`a run makes sense: ${name}`, async () => {
    const { page, close } = await walk(name);
    await page.evaluate(() => (location.hash = "#view=explore&head=0.0"));
    await settled(page);
    assert.equal(await page.innerText("#head-title"), "Layer 0, head 0");
    assert.equal(await page.getByLabel("Checkpoint", { exact: true }).isDisabled(), name === "one_checkpoint");
    if (name === "bare") {
      await page.evaluate(() => (location.hash = "#view=overview"));
      await settled(page);
      assert.match(await page.innerText(".overview"), /no summary\.json/);
      const rows = readTable("bare").filter((row) => row.checkpoint === "s10000" && row.pc === "0");
      const mean = rows.reduce((sum, row) => sum + Number(row.r_q), 0) / rows.length;
      assert.equal(await page.innerText('[data-statistic="mean r_q"] .tile-value'), shown(mean));
    }
    await close();
  });
}

test("a run says at which contexts it was read, and headings break no name", async () => {
  const said = async (name) => {
    const { page, close } = await open(browser, report(name), "#view=overview");
    const found = await page.$$eval(".contexts-read", (all) => all.map((one) => one.innerText));
    const broken = await page.$$eval("table.changes thead .unbroken", (all) => all.filter((one) => one.getBoundingClientRect().height > 2 * parseFloat(getComputedStyle(one).fontSize)).length);
    const names = await page.locator("table.changes thead .unbroken").count();
    await close();
    return { found, broken, names };
  };
  const contexts = await said("contexts");
  assert.deepEqual(contexts.found, ["contexts 512, 1024"]);
  assert.ok(contexts.names > 3);
  assert.equal(contexts.broken, 0);
  assert.deepEqual((await said("demo")).found, []);
});

test("lines and trails keep to one context", async () => {
  const { page, close } = await walk("contexts");
  const labels = readSummary("contexts").checkpoints.map(({ label }) => label);
  await page.evaluate(() => (location.hash = "#view=overview"));
  await settled(page);
  const path = await page.getAttribute('[data-statistic="mean r_q"] .series .line', "d");
  assert.equal(path.match(/[ML]/g).join(""), "MLLMLL");
  // The last checkpoint is compared with the first one at its context.
  assert.ok((await page.innerText('[data-statistic="mean r_q"] .tile-from')).startsWith(`${labels[3]}:`));
  await page.evaluate((at) => (location.hash = `#${new URLSearchParams({ view: "explore", at, trails: "all" })}`), labels[4]);
  await settled(page);
  const heads = new Set(readTable("contexts").map(({ layer, q_head }) => `${layer}.${q_head}`)).size;
  const trail = await page.getAttribute(".trail.all", "d");
  assert.equal(trail.match(/[ML]/g).length, 2 * heads, "two checkpoints of five are at this context");
  await page.evaluate((at) => (location.hash = `#${new URLSearchParams({ view: "explore", at, trails: "all" })}`), labels[2]);
  await settled(page);
  const longer = await page.getAttribute(".trail.all", "d");
  assert.equal(longer.match(/[ML]/g).length, 3 * heads, "one has no context in its label, but the same");
  assert.deepEqual(await page.$$eval(".phases span", (all) => all.map((span) => span.textContent)), [
    "Stage 1 @512",
    "Stage 2 @512",
    "Stage 2 @1024",
    "Stage 3 @1024",
  ]);
  await close();
});

test("heads flow within a context, not from one to another", async () => {
  const { page, close } = await open(browser, report("contexts"), "#view=flow");
  const titles = await page.$$eval(".ribbon title", (all) => all.map((title) => title.textContent));
  assert.deepEqual(
    [...new Set(titles.map((text) => text.split(":")[0]))].sort(),
    ["A@1024 → B@1024", "A@512 → B@512", "B@1024 → after", "before → A@512"],
  );
  const phases = await page.$$eval(".alluvial .phase", (all) => all.map((text) => text.textContent));
  assert.deepEqual(phases, ["Stage 1 @512", "Stage 2 @512", "Stage 2 @1024", "Stage 3 @1024"]);
  const beyond = await page.$$eval(".alluvial .phase", (all) =>
    all.map((text) => text.getBoundingClientRect().right - text.ownerSVGElement.getBoundingClientRect().right),
  );
  assert.ok(Math.max(...beyond) <= 0, "no name is cut");
  assert.ok((await page.innerText(".flow .card")).includes("no band leads from one to another"));
  await close();
});

test("every number of the large page is qk.csv's", async () => {
  const { page, close } = await open(browser, report("large"));
  const table = readTable("large");
  const found = await page.evaluate(() => {
    const { table: t } = JSON.parse(document.getElementById("data").textContent);
    const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    return Object.fromEntries(
      Object.entries(t.columns).map(([name, { digits, places }]) => {
        const view = new DataView(bytes(digits).buffer);
        const point = new Int8Array(bytes(places).buffer);
        return [name, Array.from(point, (p, i) => view.getInt32(4 * i, true) / 10 ** p)];
      }),
    );
  });
  const names = ["r_q", "r_k", "explained_variance", "r_q_se", "r_k_se", "explained_variance_se"];
  assert.deepEqual(Object.keys(found).sort(), [...names].sort());
  // qk.csv is in the cube's order: checkpoint, layer, head, component.
  for (const name of names) {
    const wrong = table.findIndex((row, i) => Math.abs(Number(row[name]) - found[name][i]) > 1e-15);
    assert.equal(wrong, -1, `${name}: ${JSON.stringify(table[wrong])}`);
  }
  await close();
});

test("models side by side: a table of them, and nothing leads from one to another", async () => {
  const { page, close } = await walk("models");
  await page.evaluate(() => (location.hash = "#view=overview"));
  await settled(page);
  const names = ["large", "small", "other"];
  assert.match(await page.innerText(".lead"), /attention heads of 3 models/);
  assert.deepEqual(await page.locator("table.checkpoints tbody th").allInnerTexts(), names);
  const columns = await page.locator("table.checkpoints thead th").allInnerTexts();
  assert.deepEqual(columns.slice(0, 4), ["model", "layers", "context", "heads"]);
  assert.equal(await page.locator(".tile, table.changes").count(), 0);
  await page.evaluate(() => (location.hash = "#view=flow"));
  await settled(page);
  assert.match(await page.innerText(".flow"), /nothing flows between them/);
  await page.evaluate(() => (location.hash = "#view=explore&head=1.0"));
  await settled(page);
  assert.equal(await page.locator(".head-detail .card h2").first().innerText(), "By model");
  assert.equal(await page.locator(".head-numbers thead th").first().innerText(), "model");
  await page.evaluate(() => (location.hash = "#view=flow"));
  await settled(page);
  assert.doesNotMatch(await page.innerText(".flow"), /Moves between/);
  await close();
});

test("names that every object has, two contexts, steps that double, a column without numbers, missing errors", async () => {
  const { page, noted, close } = await walk("awkward");
  const names = ["constructor", "__proto__", "toString", "valueOf", "=1+1"];
  await page.evaluate(() => (location.hash = "#view=overview"));
  await settled(page);
  assert.deepEqual((await page.locator("table.checkpoints tbody th").allInnerTexts()).slice(1), names);
  assert.equal(await page.locator('.tile[data-statistic*="share of position"] .tile-value').count(), 0, "nobody has it");
  const drawn = async (name) => {
    await page.locator(`[data-figure="${name}"]`).scrollIntoViewIfNeeded();
    await page.waitForSelector(`[data-figure="${name}"].drawn`);
    return (selector) => page.$$eval(`[data-figure="${name}"] ${selector}`, (all) => all.map((one) => one.textContent));
  };
  assert.deepEqual(await (await drawn("how_positional"))(".role-legend-label text"), ["R² of queries", "R² of keys"]);
  // Ticks of legends do not touch, even where the negative part is short.
  for (const name of ["depth_r_q", "depth_r_k"]) {
    await drawn(name);
    const boxes = await page.$$eval(`[data-figure="${name}"] .role-legend-label text`, (all) => all.map((one) => one.getBoundingClientRect()).map(({ left, right }) => [left, right]));
    boxes.slice(1).forEach(([left], i) => assert.ok(left > boxes[i][1] + 2, `${name}: ${boxes}`));
  }
  // The loss has as many bins as its context needs, and an error only where one exists.
  const losses = await page.$$eval("table.losses tbody tr", (all) => all.map((row) => [...row.cells].map((cell) => cell.innerText)));
  assert.deepEqual(losses.map(([label]) => label), ["hasOwnProperty", ...names]);
  for (const [label, first, second, ...rest] of losses) {
    assert.match(first, /^\d+\.\d{3}$/, label);
    assert.match(second, / ± /, label);
    assert.equal(rest.at(-1) === "–", !["valueOf", "=1+1"].includes(label), label);
  }
  const change = await page.$$eval('[data-line="loss"] td', (all) => all.map((one) => one.innerText.replace(/\s+/g, " ")));
  assert.ok(change.length && change.every((text) => /^[+−]\d\.\d{3} ± 0\.020 (real|other context)$/.test(text)), `${change}`);
  assert.deepEqual(noted.errors, []);
  await close();
});

test("on a phone no number of the first view is cut; on a dark page the context stands out from the cells it lies on", async () => {
  const { page, close } = await open(browser, report("awkward"), "#view=overview", { viewport: { width: 400, height: 800 }, colorScheme: "dark" });
  await settled(page);
  const cut = await page.$$eval(".tile-value, .tile-from", (all) => all.filter((one) => one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight + 1).map((one) => one.innerText));
  assert.deepEqual(cut, []);
  await page.locator('[data-figure="bands"]').scrollIntoViewIfNeeded();
  await page.waitForSelector('[data-figure="bands"].drawn');
  const lines = await page.$$eval('[data-figure="bands"] [class*="contexts_"] line', (all) => all.map((one) => getComputedStyle(one).stroke));
  assert.ok(lines.length >= 5 && lines.every((stroke) => stroke.match(/\d+/g).every((part) => Number(part) < 60)), `${lines}`);
  await close();
});
