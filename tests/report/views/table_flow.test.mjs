// The table and the flow of classes: sorting, searching, saving, counting.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { downloaded, launch, open, readCsv, readTable, report, settled, withError } from "../browser.mjs";

let browser, table;
before(async () => {
  browser = await launch();
  table = readTable("demo");
});
after(() => browser.close());

const CLASSES = ["position-dominated", "q-positional", "k-positional", "content-focused", "mixed"];
const at = (label, pc = "0") => table.filter((row) => row.checkpoint === label && row.pc === pc);
const rows = (page) =>
  page.$$eval(".heads-table tbody tr", (all) =>
    all.map((row) => [...row.children].map((cell) => cell.innerText.trim())),
  );

test("the table shows qk.csv, sorted as asked", async () => {
  const { page, noted, close } = await open(browser, report("demo"), "#view=table&at=s7000");
  const expected = at("s7000").map((row) => [
    "s7000",
    row.layer,
    row.q_head,
    row.kv_head,
    row.rope === "1" ? "RoPE" : "NoPE",
    row.class,
    row.flag.replaceAll(";", ", "),
    withError(row.explained_variance, row.explained_variance_se),
    withError(row.r_q, row.r_q_se),
    withError(row.r_k, row.r_k_se),
  ]);
  assert.deepEqual(
    (await rows(page)).map((row) => row.slice(0, 10)),
    expected.slice(0, 50),
  );
  await page.click("text=Next →");
  assert.deepEqual(
    (await rows(page)).map((row) => row.slice(0, 10)),
    expected.slice(50),
  );
  const sorter = page.locator("th", { hasText: /^r_k/ });
  await sorter.locator("button").click();
  await settled(page);
  assert.equal(await sorter.getAttribute("aria-sort"), "ascending");
  const sorted = (sign) =>
    at("s7000")
      .sort((a, b) => sign * (a.r_k - b.r_k))
      .map((row) => withError(row.r_k, row.r_k_se))
      .slice(0, 50);
  assert.deepEqual(
    (await rows(page)).map((row) => row[9]),
    sorted(1),
  );
  await sorter.locator("button").click();
  await settled(page);
  assert.equal(await sorter.getAttribute("aria-sort"), "descending");
  assert.deepEqual(
    (await rows(page)).map((row) => row[9]),
    sorted(-1),
  );
  assert.deepEqual(noted.errors, []);
  await close();
});

test("searching, and saving what is left with qk.csv's own digits", async () => {
  const { page, close } = await open(browser, report("demo"), "#view=table&at=s7000");
  await page.fill('[aria-label="Search"]', "nope layer 3");
  await page.getByLabel("component", { exact: true }).selectOption({ label: "PC4" });
  await settled(page);
  const expected = at("s7000", "4").filter((row) => row.layer === "3");
  assert.equal(await page.innerText(".toolbar > [role=status]"), `${expected.length} rows`);
  const saved = await downloaded(page, () => page.click("text=Download CSV"));
  assert.equal(saved.name, "demo-s7000.csv");
  // Every component of these heads: a table without PC0 could not be read.
  const whole = table.filter((row) => row.checkpoint === "s7000" && row.layer === "3");
  assert.deepEqual(readCsv(saved.bytes.toString()), whole);
  await page.fill('[aria-label="Search"]', "");
  await page.getByLabel("rows", { exact: true }).selectOption("all");
  await settled(page);
  const every = (await downloaded(page, () => page.click("text=Download CSV"))).bytes;
  const key = (row) => `${row.checkpoint}/${row.layer}/${row.q_head}/${row.pc}`;
  const sorted = (rows) => rows.toSorted((a, b) => key(a).localeCompare(key(b)));
  assert.deepEqual(sorted(readCsv(every.toString())), sorted(table));
  await close();
});

test("what was saved can be read back: figures and report take it", async () => {
  const { page, close } = await open(browser, report("demo"), "#view=table&search=r_q > 0.5&rows=every-checkpoint");
  await page.getByLabel("component", { exact: true }).selectOption({ label: "PC4" });
  await settled(page);
  const { bytes } = await downloaded(page, () => page.click("text=Download CSV"));
  await close();
  const folder = mkdtempSync(join(tmpdir(), "ropewalk-saved-"));
  try {
    writeFileSync(join(folder, "qk.csv"), bytes);
    const run = (...words) => execFileSync(process.env.ROPEWALK, [...words, "--quiet"], { stdio: "pipe" });
    run("figures", join(folder, "qk.csv"), "--out", join(folder, "figures"), "--format", "json");
    const spec = JSON.parse(readFileSync(join(folder, "figures", "position_signal.vl.json"), "utf8"));
    const labels = [...new Set(spec.datasets.means.map(({ checkpoint }) => checkpoint))];
    run("report", folder);
    const again = await open(browser, join(folder, "report.html"), "#view=overview");
    const order = await again.page.$$eval("table.checkpoints tbody tr", (all) => all.map((row) => row.dataset.checkpoint));
    const there = new Set(readCsv(bytes.toString()).map((row) => row.checkpoint));
    const run_order = [...new Set(table.map((row) => row.checkpoint))].filter((label) => there.has(label));
    assert.ok(run_order.length > 3);
    assert.deepEqual(order, run_order);
    assert.deepEqual(labels.toSorted(), run_order.toSorted());
    assert.deepEqual(again.noted.errors, []);
    await again.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a search knows heads, comparisons, words and or", async () => {
  const { page, close } = await open(browser, report("demo"), "#view=table&at=s7000");
  const name = (row) => `L${row.layer} H${row.q_head}`;
  const all = at("s7000");
  const searches = {
    "3.2": (row) => name(row) === "L3 H2",
    L3H2: (row) => name(row) === "L3 H2",
    "l3 h2": (row) => name(row) === "L3 H2",
    "layer 3 head 2": (row) => name(row) === "L3 H2",
    "r_q > 0.7": (row) => row.r_q > 0.7,
    "r_q>0.7 |r_k|<=.5": (row) => row.r_q > 0.7 && Math.abs(row.r_k) <= 0.5,
    "0.3 < r_k <= 0.7 and rope": (row) => row.r_k > 0.3 && row.r_k <= 0.7 && row.rope === "1",
    "r_k < −0.2 or 3.2, 99.1": (row) => row.r_k < -0.2,
    "r_k < -0.2 or 3.2": (row) => row.r_k < -0.2 || name(row) === "L3 H2",
    "layer >= 10 r_k_se > 0.02": (row) => row.layer >= 10 && row.r_k_se > 0.02,
    "head = 4 pc0_stability ≥ .98": (row) => row.q_head === "4" && row.pc0_stability >= 0.98,
  };
  for (const [text, wanted] of Object.entries(searches)) {
    await page.fill('[aria-label="Search"]', text);
    await settled(page);
    const found = all.filter(wanted);
    assert.equal(await page.innerText(".toolbar > [role=status]"), `${found.length} row${found.length === 1 ? "" : "s"}`);
    const shownHeads = await page.$$eval(".heads-table tbody tr", (rows) => rows.map((row) => row.dataset.head));
    assert.deepEqual(shownHeads, found.map(name).slice(0, 50), text);
    assert.equal(await page.locator(".notice").isVisible(), false);
  }
  await page.fill('[aria-label="Search"]', "r_x > 0.7");
  await settled(page);
  assert.match(await page.innerText(".notice"), /^There is no number r_x/);
  await page.fill('[aria-label="Search"]', "r_q >");
  await settled(page);
  assert.match(await page.innerText(".notice"), /A comparison looks like r_q > 0.7/);
  await page.fill('[aria-label="Search"]', "r_q > 0.9");
  await settled(page);
  await page.click("text=Select heads");
  await settled(page);
  assert.equal(await page.locator(".cell.selected").count(), all.filter((row) => row.r_q > 0.9).length);
  await close();
});

test("the reader chooses columns, and a link keeps them", async () => {
  const { page, close } = await open(browser, report("demo"), "#view=table");
  const columns = () => page.$$eval(".heads-table th", (all) => all.map((one) => one.dataset.column));
  const usual = await columns();
  for (const key of ["kv_head", "rope", "flag", "explained_variance"]) {
    await page.click('.picker-button[aria-label^="columns: "]');
    await page.click(`.picker-box:not([hidden]) [data-key="${key}"]`);
    await page.keyboard.press("Escape");
  }
  await settled(page);
  const left = ["checkpoint", "layer", "q_head", "class", "r_q", "r_k", "pc0_stability"];
  assert.deepEqual(await columns(), left);
  await page.waitForFunction((text) => location.hash.includes(text), `columns=${left.join(".")}`);
  const link = page.url();
  await page.goto("about:blank");
  await page.goto(link);
  assert.deepEqual(await columns(), left);
  await page.click('.picker-button[aria-label^="columns: "]');
  await page.click('.picker-box:not([hidden]) >> text="Usual"');
  await settled(page);
  assert.deepEqual(await columns(), usual);
  await close();
});

test("a row opens its head", async () => {
  const { page, close } = await open(browser, report("demo"), "#view=table&at=s7000");
  await page.click('[aria-label="Open layer 2, head 6"]');
  await settled(page);
  assert.equal(await page.innerText("#head-title"), "Layer 2, head 6");
  await close();
});

test("moves between classes are counted and listed", async () => {
  const { page, noted, close } = await open(browser, report("demo"), "#view=flow");
  await page.getByLabel("from", { exact: true }).selectOption({ label: "s1000" });
  await page.getByLabel("to", { exact: true }).selectOption({ label: "s10000" });
  await settled(page);
  const before = new Map(at("s1000").map((row) => [`${row.layer}.${row.q_head}`, row.class]));
  const moved = (a, b) =>
    at("s10000").filter((row) => row.class === b && before.get(`${row.layer}.${row.q_head}`) === a);
  const counts = await page.$$eval(".matrix tbody tr", (all) =>
    all.map((row) => [...row.querySelectorAll("button")].map((b) => Number(b.textContent))),
  );
  assert.deepEqual(
    counts,
    CLASSES.map((a) => CLASSES.map((b) => moved(a, b).length)),
  );
  const a = CLASSES.findIndex((_, i) => counts[i][0] > 0);
  await page.locator(".matrix tbody tr").nth(a).locator("button").first().click();
  await settled(page);
  const listed = await page.$$eval(".head-list .chip", (all) => all.map((chip) => chip.textContent));
  assert.deepEqual(
    listed,
    moved(CLASSES[a], CLASSES[0]).map((row) => `L${row.layer} H${row.q_head}`),
  );
  await page.click("text=Select them");
  await settled(page);
  assert.equal(await page.locator(".cell.selected").count(), listed.length);
  assert.deepEqual(noted.errors, []);
  await close();
});

test("ribbons are heads on their way, and answer clicks", async () => {
  const { page, close } = await open(browser, report("demo"), "#view=flow");
  const titles = await page.$$eval(".ribbon title", (all) => all.map((title) => title.textContent));
  const total = titles.map((text) => Number(text.match(/: (\d+) head/)[1])).reduce((x, y) => x + y, 0);
  assert.equal(total, 9 * 96);
  assert.equal(
    titles.some((text) => text.includes("init")),
    false,
  );
  await page.locator(".ribbon").first().click();
  await settled(page);
  assert.equal(await page.getByLabel("from", { exact: true }).locator("option:checked").innerText(), "s1000");
  assert.equal(await page.locator(".head-list .chip").count(), Number(titles[0].match(/: (\d+) head/)[1]));
  await close();
});

test("provenance states the manifest", async () => {
  const { page, close } = await open(browser, report("demo"), "#view=provenance");
  const text = await page.innerText(".provenance");
  for (const part of [
    "corpus.jsonl",
    "2,048,000",
    "12",
    "0.1.0 (torch 2.13.0, arrow 26.0.1)",
    "smollm3.yaml",
    "bfloat16",
    "@misc",
    "How to cite",
  ]) {
    assert.ok(text.includes(part), part);
  }
  await close();
});
