// The overview: every number against summary.json, figures, downloads, themes.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { downloaded, error, launch, open, readSummary, report, settled, shown, withError } from "./browser.mjs";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

const CLASSES = ["position-dominated", "q-positional", "k-positional", "content-focused", "mixed"];
const STATISTICS = ["mean_r_q", "mean_r_k", "mean_abs_r_k", "pc0_explained_variance"];
const FIGURES = ["position_signal", "phase_portraits", "taxonomy", "depth_r_q", "depth_r_k", "explained_variance"];
const cells = (page, selector) =>
  page.$$eval(`${selector} tbody tr`, (rows) => rows.map((row) => [...row.children].map((c) => c.innerText.trim())));

// With ± where that stays within 0 and 1, else with Wilson's interval of a share of n.
function shareText({ value, se }, n) {
  if (value - 2 * se >= 0 && value + 2 * se <= 1) return withError(100 * value, 100 * se, 1);
  const z = 1.959964;
  const [middle, half] = [value + (z * z) / 2 / n, z * Math.sqrt((value * (1 - value)) / n + (z * z) / 4 / n ** 2)];
  const [low, high] = [-1, 1].map((side) => Math.min(1, Math.max(0, (middle + side * half) / (1 + (z * z) / n))));
  return `${(100 * value).toFixed(1)} (${(100 * low).toFixed(0)} to ${(100 * high).toFixed(0)})`;
}

test("numbers of every checkpoint are summary.json's", async () => {
  const { page, close } = await open(browser, report("demo"));
  const summary = readSummary("demo");
  const rows = await cells(page, "table.checkpoints");
  assert.equal(rows.length, summary.checkpoints.length);
  for (const row of rows) {
    const leaves = STATISTICS.map((key) => summary[key][row[0]]);
    const shares = CLASSES.map((name) => summary.taxonomy[row[0]][name]);
    assert.deepEqual(row.slice(3), [
      ...leaves.map(({ value, se }) => withError(value, se)),
      ...shares.map((share) => shareText(share, Number(row[2]))),
    ]);
  }
  assert.deepEqual(rows[0].slice(0, 2), ["init", "baseline"]);
  const tile = await page.innerText('[data-statistic="mean r_q"] .tile-value');
  const last = summary.mean_r_q.s10000;
  assert.equal(tile.replace(/\s+/g, " "), withError(last.value, last.se));
  await close();
});

test("changes are summary.json's, real or within noise", async () => {
  const { page, close } = await open(browser, report("demo"));
  const summary = readSummary("demo");
  const phases = Object.fromEntries(summary.checkpoints.map((c) => [c.label, c.phase]));
  const crossing = summary.differences.filter((d) => phases[d.from] !== phases[d.to]);
  assert.equal((await cells(page, "table.changes")).length, crossing.length);
  await page.click("text=Every step");
  const rows = await page.$$eval("table.changes tbody tr", (all) =>
    all.map((row) => ({
      from: row.dataset.from,
      cells: [...row.querySelectorAll("td")].map((c) => c.innerText.replace(/\s+/g, " ").trim()),
    })),
  );
  assert.equal(rows.length, summary.differences.length);
  for (const [i, { from, cells: found }] of rows.entries()) {
    const difference = summary.differences[i];
    assert.equal(from, difference.from);
    const signed = (value, digits) => (Number(value.toFixed(digits)) > 0 ? "+" : "") + shown(value, digits);
    STATISTICS.forEach((key, j) => {
      const { value, se, real } = difference[key];
      assert.equal(found[j], `${signed(value, 3)} ± ${error(se)} ${real ? "real" : "within noise"}`);
    });
    const share = difference.taxonomy["position-dominated"];
    assert.equal(
      found[4],
      `${signed(100 * share.value, 1)} ± ${error(100 * share.se, 1)} % ${share.real ? "real" : "within noise"}`,
    );
    assert.deepEqual(found.slice(5), [String(difference.heads_r_q.length), String(difference.heads_r_k.length)]);
  }
  // The count leads to its heads.
  await page.locator("table.changes tbody tr").last().locator("button").first().click();
  await page.waitForSelector(".heads-grid");
  assert.equal(await page.locator(".cell.selected").count(), summary.differences.at(-1).heads_r_q.length);
  await close();
});

test("all six figures are drawn and can be saved, without any request", async () => {
  const { page, noted, close } = await open(browser, report("large"));
  for (const name of FIGURES) {
    const figure = page.locator(`[data-figure="${name}"]`);
    await figure.scrollIntoViewIfNeeded();
    await page.waitForSelector(`[data-figure="${name}"].drawn svg`);
  }
  const press = (format) => () => page.click(`[aria-label="Download Position signal as ${format}"]`);
  const png = await downloaded(page, press("PNG"));
  assert.equal(png.name, "position_signal.png");
  assert.equal(png.bytes.subarray(1, 4).toString(), "PNG");
  const svg = await downloaded(page, press("SVG"));
  assert.match(svg.bytes.toString(), /^<svg/);
  const spec = JSON.parse((await downloaded(page, press("JSON"))).bytes);
  assert.match(spec.$schema, /vega-lite\/v6/);
  const summary = readSummary("large");
  for (const row of spec.datasets.means.filter(({ series }) => series.startsWith("mean r_q"))) {
    assert.ok(Math.abs(row.mean - summary.mean_r_q[row.checkpoint].value) < 1e-8);
    assert.equal(row.se, summary.mean_r_q[row.checkpoint].se);
  }
  assert.deepEqual(noted.errors, []);
  assert.equal(
    noted.requests.filter((url) => !url.startsWith("blob:") && !url.startsWith("data:")).length,
    1,
    noted.requests.join("\n"),
  );
  await close();
});

test("colours of the page are those of the figures", async () => {
  const { page, close } = await open(browser, report("demo"));
  const { printed, shown: used } = await page.evaluate(() => {
    const { figures } = JSON.parse(document.getElementById("data").textContent);
    const segments = figures.taxonomy.layer.find((layer) => layer.name === "segments");
    const style = getComputedStyle(document.documentElement);
    return {
      printed: segments.encoding.color.scale.range,
      shown: [0, 1, 2, 3, 4].map((i) => style.getPropertyValue(`--class-${i}`)),
    };
  });
  // Mixed heads are darker as points than as bars, in the printed portraits too.
  assert.deepEqual(used.slice(0, 4), printed.slice(0, 4));
  await close();
});

test("the theme follows the system and the button, and figures follow the theme", async () => {
  const { page, noted, close } = await open(browser, report("demo"), "", { colorScheme: "dark" });
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await ground();
  await page.locator('[data-figure="position_signal"]').scrollIntoViewIfNeeded();
  await page.waitForSelector('[data-figure="position_signal"].drawn');
  const ink = () =>
    page.$eval('[data-figure="position_signal"] .role-title-text text', (text) => getComputedStyle(text).fill);
  const light = await ink();
  await page.click('[aria-label="Light theme"]');
  assert.notEqual(await ground(), dark);
  assert.notEqual(await ink(), light);
  await page.emulateMedia({ colorScheme: "light" });
  await page.click('[aria-label="Dark theme"]');
  assert.equal(await ground(), dark);
  assert.deepEqual(noted.errors, []);
  await close();
});

test("pictures come first, and nothing moves when they are drawn", async () => {
  const { page, close } = await open(browser, report("demo"), "", { viewport: { width: 1280, height: 800 } });
  const order = await page.$$eval(".overview > *", (all) => all.map((one) => one.getAttribute("aria-label") ?? one.className));
  assert.deepEqual(order, ["intro", "tiles", "figures", "What changed", "Checkpoints"]);
  await page.waitForSelector('[data-figure="phase_portraits"].drawn');
  await settled(page);
  const shift = await page.evaluate(
    () =>
      new Promise((done) => {
        let sum = 0;
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) sum += entry.value;
        }).observe({ type: "layout-shift", buffered: true });
        setTimeout(() => done(sum), 200);
      }),
  );
  assert.ok(shift < 0.02, `moved by ${shift}`);
  await close();
});

test("a table that is wider than the page says so, until its end is reached", async () => {
  const { page, close } = await open(browser, report("demo"), "", { viewport: { width: 700, height: 800 } });
  const scroller = page.locator('[aria-label="Numbers of every checkpoint"]');
  const edge = () => scroller.evaluate((one) => [one.dataset.more, getComputedStyle(one).boxShadow !== "none"]);
  assert.deepEqual(await edge(), ["right", true]);
  assert.equal(await scroller.getAttribute("tabindex"), "0");
  await scroller.evaluate((one) => (one.scrollLeft = 100));
  await page.waitForFunction(() => document.querySelector('[data-more="left right"]'));
  await scroller.evaluate((one) => (one.scrollLeft = one.scrollWidth));
  await page.waitForFunction(() => document.querySelector('[data-more="left"]'));
  // One that fits says nothing, and is no stop for the keyboard.
  await page.setViewportSize({ width: 1900, height: 800 });
  await page.waitForFunction(() => !document.querySelector("table.changes").closest(".scroller").dataset.more);
  assert.equal(await page.getAttribute('[aria-label="What changed between checkpoints"]', "tabindex"), null);
  await close();
});
