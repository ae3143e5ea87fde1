// A head's curves and rotary pairs: compared with bands.csv and curves.csv, on axes that stay while the run plays; and
// the text where they are missing.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { launch, open, readCsv, report, reports, settled } from "../browser.mjs";

let browser, bands, curves;
before(async () => {
  browser = await launch();
  const read = (name) => readCsv(readFileSync(join(reports, "many", name), "utf8"));
  [bands, curves] = [read("bands.csv"), read("curves.csv")];
});
after(() => browser.close());

const DISTANCE = 'section[aria-label="Logits by distance"]';
const PAIRS = 'section[aria-label="Rotary pairs"]';
const of = (rows, label, layer, head) =>
  rows.filter((row) => row.checkpoint === label && row.layer === String(layer) && row.q_head === String(head));
/** The centres of a curve's marks. */
const marks = (page, selector) =>
  page.$$eval(`${selector} .marker`, (all) =>
    all.map((one) => {
      const number = (name) => Number(one.getAttribute(name));
      return one.tagName === "rect" ? [number("x") + 2.4, number("y") + 2.4] : [number("cx"), number("cy")];
    }),
  );
const ticks = (page, selector) =>
  page.$$eval(`${selector} .tick`, (all) => all.map((one) => `${one.textContent} ${one.getAttribute("x")} ${one.getAttribute("y")}`));
/** Offset and slope of the line through two points. */
const through = ([a, b], [c, d]) => [b - (a * (d - b)) / (c - a), (d - b) / (c - a)];
/** The indexes of the smallest and the largest value. */
const ends = (values) => [values.indexOf(Math.min(...values)), values.indexOf(Math.max(...values))];
async function at(page, label) {
  await page.evaluate((to) => {
    const given = new URLSearchParams(location.hash.slice(1));
    given.set("at", to);
    location.hash = given.toString();
  }, label);
  await settled(page);
}

test("curves stand where curves.csv says, on axes that do not move", async () => {
  const { page, noted, close } = await open(browser, report("many"), "#view=explore&head=2.3&at=s1000");
  const wanted = (label, curve) => of(curves, label, 2, 3).filter((row) => row.curve === curve && row.value !== "");
  const drawn = await marks(page, `${DISTANCE} .series.actual`);
  const rows = wanted("s1000", "dist_actual");
  assert.equal(drawn.length, rows.length);
  const across = (row) => Math.log1p(Number(row.x_mean));
  const x = through([across(rows[0]), drawn[0][0]], [across(rows.at(-1)), drawn.at(-1)[0]]);
  const [low, high] = ends(rows.map((row) => Number(row.value)));
  const y = through([Number(rows[low].value), drawn[low][1]], [Number(rows[high].value), drawn[high][1]]);
  const axes = await ticks(page, DISTANCE);
  for (const label of ["s1000", "s9000", "init"])
    for (const [curve, look] of [["dist_pred", "predicted"], ["dist_actual", "actual"]]) {
      await at(page, label);
      const found = await marks(page, `${DISTANCE} .series.${look}`);
      wanted(label, curve).forEach((row, i) => {
        assert.ok(Math.abs(found[i][0] - (x[0] + x[1] * across(row))) < 0.05, `${label} ${curve} ${row.x}`);
        assert.ok(Math.abs(found[i][1] - (y[0] + y[1] * Number(row.value))) < 0.05, `${label} ${curve} ${row.x}`);
      });
      assert.deepEqual(await ticks(page, DISTANCE), axes);
    }
  await at(page, "s8000");
  await page.click('[aria-label="Play"]');
  await page.waitForFunction(() => document.querySelector(".where .now").textContent === "s10000");
  await page.waitForSelector('[aria-label="Play"]');
  assert.deepEqual(await ticks(page, DISTANCE), axes);
  const last = wanted("s10000", "dist_actual").at(-1);
  const end = (await marks(page, `${DISTANCE} .series.actual`)).at(-1);
  assert.ok(Math.abs(end[1] - (y[0] + y[1] * Number(last.value))) < 0.05);
  assert.ok(axes.some((text) => text.startsWith("0 ")) && axes.some((text) => text.startsWith("1k ")));
  // A missing number interrupts the line and its band of errors.
  assert.equal((await page.getAttribute(`${DISTANCE} .series.actual .line`, "d")).match(/M/g).length, 2);
  assert.equal((await page.getAttribute(`${DISTANCE} .series.actual .band`, "d")).match(/M/g).length, 2);
  assert.deepEqual(noted.errors, []);
  await close();
});

test("rotary pairs stand at their wavelengths, beside the context", async () => {
  const { page, close } = await open(browser, report("many"), "#view=explore&head=2.3&at=s1000");
  const energy = `${PAIRS} [data-profile="energy_q"]`;
  const positions = async (label) => {
    await at(page, label);
    const rows = of(bands, label, 2, 3);
    return { rows, found: await marks(page, `${energy} .series.queries`) };
  };
  const axes = await ticks(page, PAIRS);
  const early = await positions("s1000");
  const length = (row) => Math.log((2 * Math.PI) / Number(row.theta));
  const x = through([length(early.rows[0]), early.found[0][0]], [length(early.rows.at(-1)), early.found.at(-1)[0]]);
  const [low, high] = ends(early.rows.map((row) => Number(row.energy_q)));
  const energy_of = (i) => [Math.log(early.rows[i].energy_q), early.found[i][1]];
  const y = through(energy_of(low), energy_of(high));
  for (const label of ["s1000", "s9000"]) {
    const { rows, found } = await positions(label); // with another theta
    assert.equal(found.length, 16);
    rows.forEach((row, i) => {
      assert.ok(Math.abs(found[i][0] - (x[0] + x[1] * length(row))) < 0.05, `${label} ${i}`);
      assert.ok(Math.abs(found[i][1] - (y[0] + y[1] * Math.log(row.energy_q))) < 0.05, `${label} ${i}`);
    });
    const context = label === "s1000" ? 512 : 2048;
    assert.equal(await page.textContent(`${energy} .chart-mark text`), `context ${context.toLocaleString("en")}`);
    const line = Number(await page.getAttribute(`${energy} .chart-mark line`, "x1"));
    assert.ok(Math.abs(line - (x[0] + x[1] * Math.log(context))) < 0.05);
    assert.deepEqual(await ticks(page, PAIRS), axes);
  }
  await close();
});

test("the numbers are a table that the keyboard opens and play leaves open", async () => {
  const { page, close } = await open(browser, report("many"), "#view=explore&head=2.3&at=s1000");
  const close_to = (text, value, se) => {
    const [shown, error] = text.replaceAll("−", "-").replaceAll("<", "").split(" ± ").map(Number);
    const last = 0.51 * 10 ** -(text.match(/\.(\d+)/)?.[1].length ?? 0);
    assert.ok(Math.abs(shown - value) <= last, `${text} is not ${value}`);
    assert.ok(Math.abs(error - se) <= 0.004 * se + 2 * last, `${text} is not ± ${se}`);
  };
  for (const key of ["distance", "bands"]) {
    await page.locator(`[data-series="${key}"] summary`).focus();
    await page.keyboard.press("Enter");
    await page.waitForSelector(`[data-series="${key}"] tbody tr`);
  }
  for (const label of ["s1000", "s4000"]) {
    await at(page, label);
    const table = (key) =>
      page.$$eval(`[data-series="${key}"] tbody tr`, (all) => all.map((row) => [...row.children].map((cell) => cell.innerText)));
    const [distances, pairs] = [await table("distance"), await table("bands")];
    const rows = of(curves, label, 2, 3);
    const predicted = rows.filter((row) => row.curve === "dist_pred");
    const actual = rows.filter((row) => row.curve === "dist_actual");
    assert.deepEqual(
      distances.map(([x]) => x),
      predicted.map((row) => (Number(row.x) < 4 ? row.x : `${row.x} to <${row.x_end}`)),
    );
    distances.forEach(([, first, second], i) => {
      close_to(first, Number(predicted[i].value), Number(predicted[i].value_se));
      if (actual[i].value === "") assert.equal(second, "–");
      else close_to(second, Number(actual[i].value), Number(actual[i].value_se));
    });
    of(bands, label, 2, 3).forEach((row, i) => {
      ["energy_q", "energy_k", "rope_var_q", "rope_var_k", "mrl_q", "mrl_k"].forEach((key, j) =>
        close_to(pairs[i][2 + j], Number(row[key]), Number(row[`${key}_se`])),
      );
    });
  }
  await page.hover(`${DISTANCE} svg`);
  assert.match(await page.innerText(".tooltip"), /tokens\s+predicted logit −?[\d.]+ ± [\d.]+\s+mean actual logit/);
  const label = await page.getAttribute(`${DISTANCE} svg`, "aria-label");
  assert.match(label, /^Logits by distance of layer 2, head 3 at s4000: predicted logit highest at [\d.]+ tokens/);
  await close();
});

test("what is missing is said in a line", async () => {
  const { page, noted, close } = await open(browser, report("many"), "#view=explore&head=3.1");
  assert.match(await page.innerText(DISTANCE), /This layer has no RoPE: the predicted logit is the same at every distance/);
  assert.match(await page.innerText(PAIRS), /This layer has no RoPE: its pairs do not turn/);
  assert.equal(await page.locator(`${PAIRS} .chart-mark`).count(), 0);
  assert.equal((await marks(page, `${PAIRS} [data-profile="mrl_q"] .series.queries`)).length, 16);
  await page.evaluate(() => (location.hash = "#view=explore&head=2.3&at=s2000"));
  await settled(page);
  assert.match(await page.innerText(DISTANCE), /Not measured at s2000\./);
  assert.equal(await page.locator(`${DISTANCE} .series .line`).count(), 0);
  assert.doesNotMatch(await page.innerText(PAIRS), /Not measured/);
  await page.evaluate(() => (location.hash = "#view=explore&head=5.5"));
  await settled(page);
  assert.match(await page.innerText(DISTANCE), /curves\.csv has no numbers of this head\./);
  assert.match(await page.innerText(PAIRS), /bands\.csv has no numbers of this head\./);
  assert.equal(await page.locator(`${DISTANCE} svg, ${PAIRS} svg`).count(), 0);
  assert.doesNotMatch(await page.innerText("main"), /NaN|undefined|Infinity/);
  assert.deepEqual(noted.errors, []);
  await close();
  const without = await open(browser, report("demo"), "#view=explore&head=2.3");
  assert.equal(await without.page.locator("#head-title").count(), 1);
  assert.equal(await without.page.locator(`${DISTANCE}, ${PAIRS}`).count(), 0);
  await without.close();
});

test("numbers that a page would be too large with are said to be left out", async () => {
  const text = readFileSync(report("many"), "utf8");
  assert.equal(text.split('"left_out":{}').length, 2);
  const file = join(reports, "many", "left_out.html");
  writeFileSync(file, text.replace('"left_out":{}', '"left_out":{"bands":61000000}'));
  const { page, noted, close } = await open(browser, file, "#view=explore&head=2.3");
  assert.match(await page.innerText(PAIRS), /Left out of this page, to which they would add 61 MB\. They are in bands\.csv\./);
  assert.equal(await page.locator(`${DISTANCE} svg`).count(), 1);
  assert.deepEqual(noted.errors, []);
  await close();
});
