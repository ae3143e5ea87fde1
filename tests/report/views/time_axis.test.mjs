// Checkpoints by step or tokens: the timeline, charts over training, and a run of 154 checkpoints.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { launch, open, report, settled } from "../browser.mjs";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

const STEPS = [0, ...Array.from({ length: 10 }, (_, i) => 2 ** i), ...Array.from({ length: 143 }, (_, i) => 1000 * (i + 1))];
const slider = (page) => page.getByLabel("Checkpoint", { exact: true });
const axis = (page) => page.getByLabel("axis", { exact: true });
const now = (page) => page.innerText(".where .now");
const share = (page) => slider(page).evaluate((one) => Number(one.value) / Number(one.max));
/** The positions of the queries' markers in the first chart of a head, from left to right. */
const markers = (page) =>
  page.$$eval(".head-detail .card:first-of-type > .chart .queries .marker", (all) => all.map((one) => Number(one.getAttribute("cx"))));
const near = (a, b, by = 0.01) => assert.ok(Math.abs(a - b) < by, `${a} and ${b}`);
/** The position of a step between the first positive one and the last one, from 0 to 1. */
const logShare = (step) => Math.log(step) / Math.log(143000);

test("the timeline and a head's charts open by the experiment's axis, and 0 has a place of its own", async () => {
  const { page, noted, close } = await open(browser, report("pythia"), "#view=explore&head=1.2&at=step512");
  assert.equal(await axis(page).inputValue(), "log-steps");
  assert.deepEqual(await axis(page).locator("option").allInnerTexts(), ["labels", "steps", "tokens", "log steps", "log tokens"]);
  near(await share(page), 0.06 + 0.94 * logShare(512), 1e-6);
  const [baseline, zero, ...rest] = await markers(page);
  assert.equal(rest.length, STEPS.length - 1);
  const whole = rest.at(-1) - rest[0];
  rest.forEach((x, i) => near((x - rest[0]) / whole, logShare(STEPS[i + 1])));
  assert.ok(zero < rest[0] && baseline < zero - 2 * (rest[0] - zero), `${baseline}, ${zero}, ${rest[0]}`);
  near((rest[0] - zero) / (rest.at(-1) - zero), 0.06, 0.001);
  const chart = page.locator(".head-detail .card").first().locator("> .chart");
  assert.deepEqual(await chart.locator(".tick.strong").allTextContents(), ["step512"]);
  assert.equal(await chart.locator(".axis-title").textContent(), "training steps (logarithmic)");
  assert.deepEqual(noted.errors, []);
  await close();
});

test("keys, the pointer and play move from checkpoint to checkpoint", async () => {
  const { page, close } = await open(browser, report("pythia"), "#view=explore");
  const press = async (key) => {
    await slider(page).press(key);
    await settled(page);
    return now(page);
  };
  assert.equal(await now(page), "step143000");
  assert.equal(await press("ArrowLeft"), "step142000");
  assert.equal(await press("Home"), "step0");
  assert.equal(await press("ArrowLeft"), "step0");
  assert.equal(await press("ArrowRight"), "step1");
  near(await share(page), 0.06, 1e-6);
  assert.equal(await press("PageUp"), "step6000");
  assert.equal(await press("End"), "step143000");
  const box = await slider(page).boundingBox();
  const at = 0.06 + 0.94 * logShare(70); // nearest to 64
  await page.mouse.click(box.x + 8 + at * (box.width - 16), box.y + box.height / 2);
  await settled(page);
  assert.equal(await now(page), "step64");
  near(await share(page), 0.06 + 0.94 * logShare(64), 1e-6);
  // Devices other than a pointer, such as a screen reader, move at least to the next checkpoint.
  await slider(page).evaluate((one) => {
    one.value = String(Number(one.value) + 0.001);
    one.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await settled(page);
  assert.equal(await now(page), "step128");
  await page.click('[aria-label="Play"]');
  await settled(page);
  assert.equal(await now(page), "step256");
  await page.click('[aria-label="Pause"]');
  await close();
});

test("another axis lays out the page anew and stands in the address", async () => {
  const { page, noted, close } = await open(browser, report("pythia"), "#view=explore&head=1.2&at=step1000");
  await slider(page).press("ArrowRight");
  await page.waitForFunction(() => location.hash.includes("at=step2000"));
  // only what differs from the initial state
  assert.equal(await page.evaluate(() => location.hash.includes("axis")), false);
  await slider(page).press("ArrowLeft");
  await axis(page).selectOption("tokens");
  await settled(page);
  near(await share(page), 1 / 143, 1e-6);
  assert.ok((await page.$$eval(".time-ticks span", (all) => all.map((one) => one.textContent))).includes("100M"));
  await page.waitForFunction(() => location.hash.includes("axis=tokens"));
  await page.reload();
  await settled(page);
  assert.equal(await axis(page).inputValue(), "tokens");
  await axis(page).selectOption("labels");
  await settled(page);
  assert.equal(await slider(page).inputValue(), "11");
  const [, ...positions] = await markers(page);
  const gaps = positions.slice(1).map((x, i) => x - positions[i]);
  near(Math.min(...gaps), Math.max(...gaps), 0.05);
  const spark = () => page.$eval(".tile .line", (line) => line.getAttribute("d"));
  await page.click("nav >> text=Overview");
  await settled(page);
  const byLabels = await spark();
  await page.evaluate(() => (location.hash = "#view=overview&axis=days")); // an axis that does not exist
  await settled(page);
  assert.notEqual(await spark(), byLabels);
  assert.deepEqual(noted.errors, []);
  await close();
});

test("names along the timeline and the charts do not touch, and the checkpoint in view is named", async () => {
  for (const width of [1280, 400]) {
    for (const name of ["labels", "steps", "log-tokens"]) {
      const { page, close } = await open(browser, report("pythia"), `#view=explore&head=1.2&at=step52000&axis=${name}`, {
        viewport: { width, height: 900 },
      });
      await settled(page);
      const { ticks, upright, askew, wide } = await page.evaluate(() => {
        const boxes = (selector) => [...document.querySelectorAll(selector)].map((one) => one.getBoundingClientRect());
        const chart = ".head-detail .card:first-of-type > .chart .tick";
        const sides = (all) => all.map(({ left, right }) => [left, right]);
        return {
          ticks: sides(boxes(".time-ticks span")),
          upright: sides(boxes(`${chart}[text-anchor=middle]:not(.axis-title, .strong)`)),
          askew: boxes(`${chart}[transform]`).map(({ right }) => right).sort((a, b) => a - b),
          wide: document.documentElement.scrollWidth > innerWidth,
        };
      });
      for (const row of [ticks, upright]) {
        assert.equal(row.length > 2, name !== "labels", `${name} at ${width}: ${row.length}`);
        row.slice(1).forEach(([left], i) => assert.ok(left > row[i][1] + 2, `${name} at ${width}`));
      }
      askew.slice(1).forEach((right, i) => assert.ok(right - askew[i] > 14, `${name} at ${width}: ${right - askew[i]}`));
      assert.equal(askew.length > 10, name === "labels");
      assert.equal(wide, false, `${name} at ${width}`);
      assert.deepEqual(await page.locator(".head-detail .card").first().locator("> .chart .strong").allTextContents(), ["step52000"]);
      assert.equal(await now(page), "step52000");
      await close();
    }
  }
});

test("lists of 154 checkpoints scroll by themselves, with the one in view in the middle", async () => {
  const { page, close } = await open(browser, report("pythia"), "#view=explore&head=1.2&at=step70000");
  await settled(page);
  const lists = page.locator(".head-detail .scroller.tall");
  assert.ok((await lists.count()) >= 1);
  for (const list of await lists.all()) {
    const { height, top, all } = await list.evaluate((one) => ({
      height: one.clientHeight,
      all: one.scrollHeight,
      top: one.querySelector(".now").getBoundingClientRect().top - one.getBoundingClientRect().top,
    }));
    assert.ok(height < 600 && all > 2 * height, `${height} of ${all}`);
    assert.ok(top > 0.3 * height && top < 0.7 * height, `${top} of ${height}`);
    assert.equal(await list.getAttribute("tabindex"), "0");
  }
  await close();
});

test("only axes that the run has numbers for are offered", async () => {
  const offered = { demo: "labels", contexts: null, models: null, large: null, one_checkpoint: null };
  for (const [name, opens] of Object.entries(offered)) {
    const { page, noted, close } = await open(browser, report(name), "#view=explore&axis=log-tokens");
    await settled(page);
    assert.equal(await axis(page).count(), opens ? 1 : 0, name);
    if (opens) assert.equal(await axis(page).inputValue(), "log-tokens");
    else assert.equal(await slider(page).getAttribute("step"), "1", name);
    if (opens) await page.evaluate(() => (location.hash = "#view=explore"));
    await settled(page);
    if (opens) assert.equal(await axis(page).inputValue(), opens);
    assert.deepEqual(noted.errors, []);
    await close();
  }
});

test("figures of a report that is written anew have the axis of the run", async () => {
  const titles = (name) => {
    const [, data] = /id="data">(.*?)<\/script>/s.exec(readFileSync(report(name), "utf8"));
    return JSON.stringify(JSON.parse(data).figures.position_signal).includes("training steps (logarithmic)");
  };
  assert.deepEqual(["pythia", "demo", "contexts"].map(titles), [true, false, false]);
  const { page, noted, close } = await open(browser, report("pythia"), "#view=overview");
  const figure = page.locator('[data-figure="taxonomy"]');
  await figure.scrollIntoViewIfNeeded();
  await page.waitForSelector('[data-figure="taxonomy"].drawn');
  const odd = await figure.evaluate((one) =>
    [...one.querySelectorAll(".mark-rect path")].filter((bar) => getComputedStyle(bar).stroke !== getComputedStyle(bar).fill).length,
  );
  assert.equal(odd, 0); // bars without seams, in their own colours
  assert.deepEqual(noted.errors, []);
  await close();
});
