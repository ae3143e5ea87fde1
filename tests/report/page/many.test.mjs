// A run with a heads.csv of about fifty numbers: they can be found, drawn and listed, and missing ones are shown as
// missing.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { choose, error, launch, open, readCsv, report, reports, settled, shown } from "../browser.mjs";

let browser, heads;
before(async () => {
  browser = await launch();
  heads = readCsv(readFileSync(join(reports, "many", "heads.csv"), "utf8"));
});
after(() => browser.close());

const of = (layer, head, label = "s10000") =>
  heads.find((row) => row.checkpoint === label && row.layer === String(layer) && row.q_head === String(head));

test("one of fifty is found in its group, colours the grid and is an axis", async () => {
  const { page, noted, close } = await open(browser, report("many"), "#view=explore");
  await page.click('.picker-button[aria-label^="colour: "]');
  const groups = await page.$$eval(".picker-box:not([hidden]) .picker-group", (all) => all.map((one) => one.textContent));
  for (const group of ["What PC0 is made of", "Position without an axis", "Drift plane", "Shape"]) assert.ok(groups.includes(group));
  await page.keyboard.type("drift bias_strength");
  await page.keyboard.press("Enter");
  await settled(page);
  const name = (await page.getAttribute('.picker-button[aria-label^="colour: "]', "aria-label")).slice("colour: ".length);
  assert.match(name, /bias/);
  const cell = (layer, head) => page.getAttribute(`.cell[data-head="${8 * layer + head}"]`, "aria-label");
  assert.equal(await cell(2, 3), `Layer 2, head 3: ${name} ${shown(of(2, 3).bias_strength, 5)}`);
  const colours = await page.$$eval(".cell[data-head]", (all) => new Set(all.map((one) => one.style.getPropertyValue("--c"))).size);
  assert.ok(colours > 40, `${colours} colours`); // differences of a thousandth are visible
  await choose(page, "up", "bias_strength");
  await choose(page, "across", "rank90_q");
  const absent = heads.filter((row) => row.checkpoint === "s10000" && (row.bias_strength === "" || row.rank90_q === ""));
  assert.ok(absent.length > 0);
  assert.match(await page.innerText(".portrait-card"), new RegExp(`${absent.length} heads? ha(s|ve) no rank90_q or no bias_strength`));
  const missing = heads.find((row) => row.checkpoint === "s10000" && row.bias_strength === "");
  assert.equal(await cell(Number(missing.layer), Number(missing.q_head)), `Layer ${missing.layer}, head ${missing.q_head}: missing`);
  assert.deepEqual(noted.errors, []);
  await close();
});

test("a head's panel has all of them with their intervals, and what PC0 is made of", async () => {
  const { page, close } = await open(browser, report("many"), "#view=explore&head=2.3");
  const row = of(2, 3);
  const keys = await page.$$eval(".all-numbers tbody tr", (all) => all.map((one) => one.dataset.statistic));
  const there = Object.keys(row).filter((key) => !/^(checkpoint|layer|q_head|flag)$|_se$/.test(key));
  assert.ok(there.length > 40, `${there.length}`);
  for (const key of [...there, "r_q", "r_k", "explained_variance", "pc0_stability"]) assert.ok(keys.includes(key), key);
  const cells = await page.$$eval('[data-statistic="bias_strength"] td', (all) => all.map((one) => one.innerText));
  assert.deepEqual(cells.slice(0, 2), [shown(row.bias_strength, 5), error(row.bias_strength_se, 5)]);
  assert.match(cells[2], /^−?0\.\d{5} to 0\.\d{5}$/);
  assert.equal(await page.locator(".composition li").count(), 11);
  const shares = await page.$$eval(".composition .now .part", (all) => all.map((one) => Number(one.style.flexGrow)));
  const parts = ["pc0_offset", "pc0_pos_q", "pc0_pos_k", "pc0_content"];
  parts.forEach((key, i) => assert.ok(Math.abs(shares[i] - Number(row[key])) < 1e-6));
  const widths = await page.$$eval(".composition .now .part", (all) => all.map((one) => one.getBoundingClientRect().width));
  const whole = widths.reduce((a, b) => a + b);
  parts.forEach((key, i) => assert.ok(Math.abs(widths[i] / whole - Number(row[key])) < 0.01));
  assert.ok((await page.innerText('[data-part="pc0_offset"]')).endsWith(`${shown(row.pc0_offset)} ± ${error(row.pc0_offset_se)}`));
  const missing = heads.find((one) => one.checkpoint === "s10000" && one.rank90_q === "");
  await page.evaluate((to) => (location.hash = to), `#view=explore&head=${missing.layer}.${missing.q_head}`);
  await settled(page);
  assert.deepEqual(await page.$$eval('[data-statistic="rank90_q"] td', (all) => all.map((one) => one.innerText)), ["–", "–", "–"]);
  await close();
});

test("tables and tiles stay short until the reader asks for more", async () => {
  const { page, close } = await open(browser, report("many"), "#view=table&search=bias_strength > 0.0015 r2cv_q > 0.5");
  const found = heads.filter((row) => row.checkpoint === "s10000" && row.bias_strength > 0.0015 && row.r2cv_q > 0.5);
  assert.ok(found.length > 0);
  assert.equal(await page.innerText(".toolbar > [role=status]"), `${found.length} row${found.length === 1 ? "" : "s"}`);
  const columns = () => page.$$eval(".heads-table th", (all) => all.map((one) => one.dataset.column));
  assert.equal((await columns()).includes("massive_q"), false);
  await page.click('.picker-button[aria-label^="columns: "]');
  await page.click('.picker-box:not([hidden]) [data-key="massive_q"]');
  await settled(page);
  assert.equal((await columns()).includes("massive_q"), true);
  await page.evaluate(() => (location.hash = "#view=overview"));
  await settled(page);
  assert.ok((await page.locator('.tile:not([data-statistic="loss"])').count()) <= 8);
  await close();
});

test("figures that the experiment asks for are on the page, under their own titles", async () => {
  const { page, noted, close } = await open(browser, report("many"), "#view=overview");
  const titles = await page.$$eval(".figure-card h2", (all) => all.map((one) => one.textContent));
  assert.deepEqual(titles.slice(-3), [
    "Bias over the context, over training",
    "Bias over the context, by depth over training",
    "Heads by R² of queries and share of position in logits",
  ]);
  const portrait = page.locator('[data-figure="portrait_r2cv_q_logit_pos_share"]');
  await portrait.scrollIntoViewIfNeeded();
  await page.waitForSelector('[data-figure="portrait_r2cv_q_logit_pos_share"].drawn');
  assert.ok((await portrait.locator(".mark-symbol path").count()) > 300);
  assert.deepEqual(noted.errors, []);
  await close();
});

test("titles of panels side by side stand at one height", async () => {
  const { page, close } = await open(browser, report("many"), "#view=overview");
  for (const name of ["portrait_r2cv_q_logit_pos_share", "phase_portraits", "distance"]) {
    await page.locator(`[data-figure="${name}"]`).scrollIntoViewIfNeeded();
    await page.waitForSelector(`[data-figure="${name}"].drawn`);
    const tops = await page.$$eval(`[data-figure="${name}"] text`, (all) => all.filter((one) => /^s\d+000$/.test(one.textContent)).map((one) => Math.round(one.getBoundingClientRect().top)));
    assert.equal(tops.length, 6, name);
    assert.equal(new Set(tops).size, 2, `${name}: ${tops}`);
  }
  await close();
});

test("on a dark page a legend has the colours of what it names, and numbers in bars are read", async () => {
  const { page, close } = await open(browser, report("many"), "#view=overview", { colorScheme: "dark" });
  const light = { pc0_composition: "parts_marks", explained_variance: "spectrum_marks" };
  for (const [name, marks] of Object.entries(light)) {
    await page.locator(`[data-figure="${name}"]`).scrollIntoViewIfNeeded();
    await page.waitForSelector(`[data-figure="${name}"].drawn`);
    const { legend, bars, numbers } = await page.evaluate(
      ([name, marks]) => {
        const figure = document.querySelector(`[data-figure="${name}"]`);
        const fills = (selector) => [...figure.querySelectorAll(selector)].map((one) => getComputedStyle(one).fill);
        return { legend: fills(".role-legend-symbol path"), bars: fills(`.${marks} path`), numbers: fills(".numbers_marks text") };
      },
      [name, marks],
    );
    assert.deepEqual(bars.slice(0, legend.length), legend, name);
    if (name === "pc0_composition") {
      const dark = (fill) => fill.match(/\d+/g).every((part) => Number(part) < 60);
      assert.ok(numbers.length > 10 && numbers.every(dark) && !legend.some(dark));
    }
  }
  await close();
});

test("every interval of a head is seen without scrolling, on a screen and on a phone", async () => {
  for (const width of [1280, 400]) {
    const { page, close } = await open(browser, report("many"), "#view=explore&head=2.3", { viewport: { width, height: 800 } });
    await settled(page);
    const cut = await page.$$eval(".number-groups .scroller", (all) =>
      all.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.getAttribute("aria-label")),
    );
    assert.deepEqual(cut, [], `${width}`);
    assert.ok((await page.locator(".number-groups .scroller").count()) > 5);
    await close();
  }
});
