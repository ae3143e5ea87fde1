// The table and the flow of classes: sorting, searching, saving, counting.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { downloaded, launch, open, readCsv, readTable, report, settled, withError } from "./browser.mjs";

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
    withError(row.explained_variance, row.explained_variance_se),
    withError(row.r_q, row.r_q_se),
    withError(row.r_k, row.r_k_se),
  ]);
  assert.deepEqual(
    (await rows(page)).map((row) => row.slice(0, 9)),
    expected.slice(0, 50),
  );
  await page.click("text=Next →");
  assert.deepEqual(
    (await rows(page)).map((row) => row.slice(0, 9)),
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
    (await rows(page)).map((row) => row[8]),
    sorted(1),
  );
  await sorter.locator("button").click();
  await settled(page);
  assert.equal(await sorter.getAttribute("aria-sort"), "descending");
  assert.deepEqual(
    (await rows(page)).map((row) => row[8]),
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
  assert.equal(await page.innerText(".toolbar [role=status]"), `${expected.length} rows`);
  const saved = await downloaded(page, () => page.click("text=Download CSV"));
  assert.equal(saved.name, "demo-s7000-pc4.csv");
  const columns = ({ order, ...row }) => row; // the page knows the order, not its number
  assert.deepEqual(readCsv(saved.bytes.toString()), expected.map(columns));
  await page.fill('[aria-label="Search"]', "");
  await page.getByLabel("rows", { exact: true }).selectOption("all");
  await settled(page);
  const all = readCsv((await downloaded(page, () => page.click("text=Download CSV"))).bytes.toString());
  const key = (row) => `${row.checkpoint}/${row.layer}/${row.q_head}`;
  const wanted = new Map(table.filter((row) => row.pc === "4").map((row) => [key(row), columns(row)]));
  assert.equal(all.length, wanted.size);
  for (const row of all) assert.deepEqual(row, wanted.get(key(row)));
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
