// The overview: every number compared with summary.json, figures, downloads, themes.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { downloaded, error, launch, open, readSummary, report, settled, shown, withError } from "../browser.mjs";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

const CLASSES = ["position-dominated", "q-positional", "k-positional", "content-focused", "mixed"];
// Numbers without a sign come first.
const STATISTICS = ["mean_abs_r_k", "pc0_explained_variance", "mean_r_q", "mean_r_k"];
const FIGURES = ["position_signal", "phase_portraits", "taxonomy", "depth_r_q", "depth_r_k", "explained_variance"];
const cells = (page, selector) =>
  page.$$eval(`${selector} tbody tr`, (rows) => rows.map((row) => [...row.children].map((c) => c.innerText.trim())));

// With ± where this stays between 0 and 1, else with Wilson's interval for a share of n.
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

test("changes are summary.json's, real or within noise; a signed mean has two rows", async () => {
  const { page, close } = await open(browser, report("demo"));
  const summary = readSummary("demo");
  const phases = Object.fromEntries(summary.checkpoints.map((c) => [c.label, c.phase]));
  const whole = summary.whole_run;
  const crossing = [whole, ...summary.differences.filter((d) => phases[d.from] !== phases[d.to])];
  const steps = () => page.$$eval("table.changes thead th[data-from]", (all) => all.map((th) => [th.dataset.from, th.dataset.to]));
  assert.deepEqual(await steps(), crossing.map(({ from, to }) => [from, to]));
  await page.click("text=Every step");
  assert.deepEqual(await steps(), [whole, ...summary.differences].map(({ from, to }) => [from, to]));
  assert.match(await page.innerText("table.changes thead th:nth-child(2)"), /^s1000 → s10000\s+the whole run$/);
  const lines = Object.fromEntries(
    await page.$$eval("table.changes tbody tr", (all) =>
      all.map((row) => [row.dataset.line, [...row.querySelectorAll("td")].map((c) => c.innerText.replace(/\s+/g, " ").trim())]),
    ),
  );
  const signed = (value, digits) => (Number(value.toFixed(digits)) > 0 ? "+" : "") + shown(value, digits);
  const verdict = (real, one, other) => {
    if (real) return "real";
    if (other === null) return "no axis stayed";
    return one * other < 0 ? "the rows disagree" : "within noise";
  };
  for (const [i, difference] of [whole, ...summary.differences].entries()) {
    for (const key of STATISTICS) {
      const { value, se, real, stayed } = difference[key];
      assert.equal(lines[key][i], `${signed(value, 3)} ± ${error(se)} ${verdict(real, value, stayed?.value)}`);
    }
    for (const key of ["mean_r_q", "mean_r_k"]) {
      const { value, se, real, heads } = difference[key].stayed;
      const all = `${heads} of ${summary.checkpoints.at(-1).heads} heads`;
      const expected = () => `${signed(value, 3)} ± ${error(se)} ${verdict(real, value, difference[key].value)}, ${all}`;
      assert.equal(lines[`${key}.stayed`][i], value === null ? "–" : expected());
    }
    const share = difference.taxonomy["position-dominated"];
    assert.equal(lines.taxonomy[i], `${signed(100 * share.value, 1)} ± ${error(100 * share.se, 1)} % ${verdict(share.real)}`);
    for (const key of ["heads_r_q", "heads_r_k", "axes"]) assert.equal(lines[key][i], String(difference[key].length));
  }
  for (const text of ["the rows disagree", "no axis stayed"]) assert.ok(Object.values(lines).flat().some((one) => one.includes(text)), text);
  // Both rows state their group of heads.
  const names = await page.$$eval('[data-line^="mean_r_q"] th', (all) => all.map((one) => one.innerText.replace(/\s+/g, " ")));
  assert.deepEqual(names, ["mean r_q all heads, as published", "mean r_q heads whose axis stayed, signs carried"]);
  // The count opens its heads.
  await page.locator('[data-line="heads_r_q"] button').last().click();
  await page.waitForSelector(".heads-grid");
  assert.equal(await page.locator(".cell.selected").count(), summary.differences.at(-1).heads_r_q.length);
  await close();
});

test("a number has one value wherever its name stands", async () => {
  const { page, close } = await open(browser, report("shipped"));
  const told = await page.evaluate(() => {
    const text = (one) => one?.innerText.replace(/\s+/g, " ").trim();
    const columns = [...document.querySelectorAll("table.checkpoints thead th")].map(text);
    const rows = [...document.querySelectorAll("table.checkpoints tbody tr")].map((row) => [...row.children].map(text));
    const tiles = [...document.querySelectorAll(".tile")].map((tile) => [tile.dataset.statistic, text(tile.querySelector(".tile-value"))]);
    const steps = [...document.querySelectorAll("table.changes thead th[data-from]")].map((th) => [th.dataset.from, th.dataset.to]);
    const changes = [...document.querySelectorAll("table.changes tbody tr")].map((row) => [text(row.querySelector("th")), [...row.querySelectorAll("td")].map(text)]);
    const { figures } = JSON.parse(document.getElementById("data").textContent);
    const drawn = ["position_signal", "how_positional", "explained_variance"].flatMap((name) => figures[name].datasets.means);
    return { columns, rows, tiles, steps, changes, drawn };
  });
  const number = (text) => Number(/^[+−]?[\d.]+/.exec(text)[0].replace("−", "-"));
  const at = (label, name) => number(told.rows.find(([first]) => first === label)[told.columns.indexOf(name)]);
  const last = told.rows.at(-1)[0];
  const inTable = told.tiles.filter(([name]) => told.columns.includes(name));
  assert.ok(inTable.length >= 7);
  for (const [name, value] of inTable) assert.equal(number(value), at(last, name), name);
  let compared = 0;
  for (const [line, cells] of told.changes) {
    const name = line.replace(/ all heads, as published$/, "");
    if (!told.columns.includes(name)) continue;
    told.steps.forEach(([from, to], i) => {
      if (cells[i] === "–") return;
      const both = at(to, name) - at(from, name);
      assert.ok(Math.abs(number(cells[i]) - both) < 0.0016, `${line}, ${from} → ${to}: ${cells[i]}, ${both}`);
      ++compared;
    });
  }
  assert.ok(compared >= 20, `${compared}`);
  const series = { "mean r_q (queries)": "mean r_q", "mean r_k (keys)": "mean r_k", "R² of queries": "mean R² of queries, cross-validated", "R² of keys": "mean R² of keys, cross-validated", PC0: "variance of PC0" };
  for (const { series: name, checkpoint, mean } of told.drawn)
    if (series[name]) assert.ok(Math.abs(mean - at(checkpoint, series[name])) < 0.00051, `${name} at ${checkpoint}`);
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
  // Mixed heads are darker as points than as bars, also in printed portraits.
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

test("what a headline number is stands under it, uncut", async () => {
  for (const width of [1280, 400]) {
    const { page, close } = await open(browser, report("shipped"), "#view=overview", { viewport: { width, height: 900 } });
    const cut = await page.$$eval(".tile-hint", (all) => all.filter((one) => one.scrollHeight > one.clientHeight + 1).map((one) => one.innerText));
    assert.deepEqual(cut, [], `${width}`);
    assert.ok((await page.locator(".tile-hint").count()) > 6);
    await close();
  }
});

test("how positional heads are stands right beside the position signal", async () => {
  const { page, close } = await open(browser, report("shipped"));
  const names = await page.$$eval("[data-figure]", (all) => all.map((one) => one.dataset.figure));
  assert.deepEqual(names.slice(0, 3), ["position_signal", "how_positional", "phase_portraits"]);
  const [left, right] = await page.$$eval(".figure-card", (all) => all.slice(0, 2).map((one) => one.getBoundingClientRect().top));
  assert.equal(left, right);
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
  // A table that fits has no such hint and gets no keyboard focus.
  await page.setViewportSize({ width: 1900, height: 800 });
  await page.waitForFunction(() => !document.querySelector("table.changes").closest(".scroller").dataset.more);
  assert.equal(await page.getAttribute('[aria-label="What changed between checkpoints"]', "tabindex"), null);
  await close();
});
