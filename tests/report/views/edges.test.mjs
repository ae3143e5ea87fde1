// What a head looks at, in words: as edges.csv has it, as text whatever it says, and with keys alone.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { launch, open, readCsv, report, reports, settled } from "../browser.mjs";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

const CARD = 'section[aria-label="What it looks at"]';
const rowsOf = (name, label, head) =>
  readCsv(readFileSync(join(reports, name, "edges.csv"), "utf8")).filter(
    (row) => row.checkpoint === label && row.layer === "0" && row.q_head === String(head),
  );
const labelsOf = (name) => [...new Set(readCsv(readFileSync(join(reports, name, "edges.csv"), "utf8")).map((row) => row.checkpoint))];
/** A word as it was, before it was kept from being taken for a formula. */
const plain = (word) => (/^'+[=+\-@\t\r]/.test(word) ? word.slice(1) : word);
/** The words of both tokens of every edge in sight, and what is marked of them. */
const shown = (page) =>
  page.$$eval(`${CARD} .edges > li`, (all) =>
    all.map((one) => [...one.querySelectorAll(".edge-words")].map((side) => [side.lastElementChild.textContent, side.querySelector("mark")?.textContent ?? null])),
  );

test("edges stand there as edges.csv has them, as text", async () => {
  const [label] = labelsOf("hostile");
  const { page, noted, close } = await open(browser, report("hostile"), `#view=explore&head=0.0&at=${encodeURIComponent(label)}`);
  await settled(page);
  const expected = rowsOf("hostile", label, 0).map((row) =>
    ["query", "key"].map((side) => {
      const [before, text, after] = ["before", "text", "after"].map((part) => plain(row[`${side}_${part}`]));
      return before + text + after === "" ? [`token ${row[`${side}_id`]}`, null] : [before + text + after, text];
    }),
  );
  assert.ok(expected.flat().some(([words]) => words.includes("<script>")), "one of them wants to be markup");
  assert.deepEqual(await shown(page), expected.slice(0, 6));
  assert.equal(await page.locator(`${CARD} :is(script, img)`).count(), 0);
  // By keys: the others are one press away, and stay open at another checkpoint.
  await page.locator(`${CARD} summary`).focus();
  await page.keyboard.press("Enter");
  await page.locator(`${CARD} details ol`).waitFor();
  assert.deepEqual(await shown(page), expected);
  const items = await page.$$eval(`${CARD} ol`, (all) => all.map((one) => one.start));
  assert.deepEqual(items, [1, 7]);
  assert.deepEqual(noted.errors, []);
  await close();
});

test("without a tokenizer, ids; of a head without edges, that there are none", async () => {
  const label = labelsOf("many").at(-1);
  const { page, close } = await open(browser, report("many"), `#view=explore&head=0.1&at=${label}`);
  await settled(page);
  const expected = rowsOf("many", label, 1).map((row) => [[`token ${row.query_id}`, null], [`token ${row.key_id}`, null]]);
  assert.equal(expected.length, 2);
  assert.deepEqual(await shown(page), expected);
  assert.equal(await page.locator(`${CARD} summary`).count(), 0, "two are no more than are shown at first");
  await page.evaluate(() => (location.hash = location.hash.replace("head=0.1", "head=2.3")));
  await settled(page);
  assert.match(await page.locator(CARD).textContent(), /No edges of this head/);
  await close();
});

test("a run without rows has no such card", async () => {
  const { page, close } = await open(browser, report("one_checkpoint"), "#view=explore&head=0.0");
  await settled(page);
  assert.equal(await page.locator(CARD).count(), 0);
  await close();
});

for (const scheme of ["light", "dark"])
  test(`words can be read, ${scheme}, and on paper`, async () => {
    const [label] = labelsOf("hostile");
    const { page, close } = await open(browser, report("hostile"), `#view=explore&head=0.0&at=${encodeURIComponent(label)}`, { colorScheme: scheme });
    await settled(page);
    const contrast = () =>
      page.locator(`${CARD} mark`).first().evaluate((mark) => {
        const light = (colour) => {
          const parts = /(\d+), (\d+), (\d+)/.exec(colour).slice(1).map((x) => x / 255);
          return parts.map((x) => (x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)).reduce((sum, x, i) => sum + [0.2126, 0.7152, 0.0722][i] * x, 0);
        };
        const style = getComputedStyle(mark);
        const [a, b] = [light(style.color), light(style.backgroundColor)];
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      });
    assert.ok((await contrast()) > 4.5, `${await contrast()}`);
    await page.emulateMedia({ media: "print" });
    assert.ok(await page.locator(CARD).isVisible());
    assert.ok((await contrast()) > 4.5);
    await close();
  });
