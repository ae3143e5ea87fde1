// Opens a report in Chromium and measures what the main thread does: report_driver.mjs REPORT, JSON on standard output.
import { statSync } from "node:fs";
import { choose, launch, open, portraitSpot, settled } from "../tests/report/browser.mjs";

const file = process.argv[2];
const REPEATS = 5;
const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
const browser = await launch();

/** Seconds the main thread has been busy since the page began. */
async function busy(session) {
  const { metrics } = await session.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === "TaskDuration").value;
}

const firstViews = [];
for (let i = 0; i < REPEATS; ++i) {
  const { page, close } = await open(browser, file);
  firstViews.push(await page.evaluate(() => performance.getEntriesByName("ropewalk-first-view")[0].startTime));
  await close();
}

const { page, noted, close } = await open(browser, file);
const session = await page.context().newCDPSession(page);
await session.send("Performance.enable");
const spot = async (r_q, r_k) => {
  const box = await page.locator("svg.portrait").boundingBox();
  const scale = box.width / 560;
  const [x, y] = portraitSpot(r_q, r_k);
  return [box.x + scale * x, box.y + scale * y];
};
const slider = page.getByLabel("Checkpoint", { exact: true });
const show = (view) => () => page.locator("nav a", { hasText: view }).click();

// Each: what makes ready for it, and what is measured.
const INTERACTIONS = {
  "open heads": [show("Overview"), show("Heads")],
  "scrub one checkpoint": [() => slider.press("Home"), () => slider.press("ArrowRight")],
  "brush to a selection, one move": [
    async () => {
      await page.evaluate(() => scrollTo(0, 0));
      await page.mouse.move(...(await spot(0.6, 0.9)));
      await page.mouse.down();
      await page.mouse.move(...(await spot(0.8, 0.4)));
    },
    async () => page.mouse.move(...(await spot(1.0, 0.2))),
    () => page.mouse.up(),
  ],
  "scrub with a selection": [() => slider.press("Home"), () => slider.press("ArrowRight")],
  "clear selection": [
    () => page.click('.cell[data-head="5"]', { modifiers: ["Shift"] }),
    () => page.click("text=Clear selection"),
  ],
  "click a head": [async () => {}, () => page.click('.cell[data-head="100"]')],
  "scrub with a head open": [() => slider.press("Home"), () => slider.press("ArrowRight")],
  "colour by another quantity": [
    () => choose(page, "colour", "class"),
    () => choose(page, "colour", "r_q"),
  ],
  "filter by class": [async () => {}, () => page.click('.filters >> text="mixed"')],
  "trails of all heads": [
    () => page.getByLabel("trails", { exact: true }).selectOption("none"),
    () => page.getByLabel("trails", { exact: true }).selectOption("all"),
  ],
  "open flow": [show("Overview"), show("Flow")],
  "open table": [show("Overview"), show("Table")],
  "sort the table": [
    async () => {},
    () => page.locator(".heads-table th", { hasText: /^r_k/ }).locator("button").click(),
  ],
  "search the table": [
    () => page.fill('[aria-label="Search"]', ""),
    () => page.fill('[aria-label="Search"]', "layer 12"),
  ],
  "table of every checkpoint": [
    () => page.getByLabel("rows", { exact: true }).selectOption(""),
    () => page.getByLabel("rows", { exact: true }).selectOption("all"),
  ],
  "dark theme": [async () => {}, () => page.locator(".theme").click()],
};

const milliseconds = {};
await show("Heads")();
for (const [name, [prepare, act, tidy]] of Object.entries(INTERACTIONS)) {
  const times = [];
  for (let i = 0; i < REPEATS; ++i) {
    await prepare();
    await settled(page);
    await page.waitForTimeout(250); // the address is written a little later
    const before = await busy(session);
    await act();
    await settled(page);
    times.push(1000 * ((await busy(session)) - before));
    if (tidy) await tidy();
  }
  milliseconds[name] = Number(median(times).toFixed(1));
}
const version = browser.version();
await close();
await browser.close();
if (noted.errors.length) throw new Error(noted.errors.join("\n"));
console.log(
  JSON.stringify({
    chromium: version,
    bytes: statSync(file).size,
    first_view_ms: Number(median(firstViews).toFixed(1)),
    main_thread_ms: milliseconds,
  }),
);
