// Navigation: Back and Forward between views, a head's panel that scrolls into view and returns the focus.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, open, report, settled } from "../browser.mjs";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

const SMALL = { viewport: { width: 1280, height: 800 } };
const view = (page) => page.evaluate(() => document.documentElement.dataset.view);
const focused = (page) => page.evaluate(() => document.activeElement.id || document.activeElement.getAttribute("aria-label"));
/** Whether the panel's title is on the screen, below the elements that stay on top. */
const inSight = (page) =>
  page.evaluate(() => {
    const { top, bottom } = document.getElementById("head-title").getBoundingClientRect();
    const controls = document.querySelector(".controls").getBoundingClientRect();
    return top >= Math.max(controls.bottom, 0) - 1 && bottom <= innerHeight;
  });

test("Back and Forward move between views, and the choices stay", async () => {
  const { page, noted, close } = await open(browser, report("demo"), "#view=overview", SMALL);
  await page.mouse.wheel(0, 600);
  await page.waitForFunction(() => scrollY > 300 && history.state?.scroll === scrollY);
  const scrolled = await page.evaluate(() => scrollY);
  const steps = await page.evaluate(() => history.length);
  // Without the mouse, which would scroll up to reach it.
  await page.locator("nav a", { hasText: "Heads" }).evaluate((tab) => tab.click());
  await settled(page);
  assert.equal(await page.evaluate(() => scrollY), 0);
  await page.getByLabel("Checkpoint", { exact: true }).press("Home");
  await page.click('.filters >> text="mixed"');
  await settled(page);
  await page.click("nav >> text=Table"); // at once: the choice belongs to the step before
  await settled(page);
  assert.equal(await page.evaluate(() => history.length), steps + 2); // not one step per choice
  await page.goBack();
  await settled(page);
  assert.equal(await view(page), "explore");
  assert.equal(await page.innerText(".where .now"), "s1000");
  await page.goBack();
  await settled(page);
  assert.equal(await view(page), "overview");
  assert.equal(await page.evaluate(() => scrollY), scrolled);
  await page.goForward();
  await page.goForward();
  await settled(page);
  assert.equal(await view(page), "table");
  assert.equal(await page.innerText(".where .now"), "s1000");
  assert.equal(await page.getAttribute('.filters .chip:has-text("mixed")', "aria-pressed"), "false");
  assert.deepEqual(noted.errors, []);
  await close();
});

test("opening a head shows its panel with the focus; Esc closes it and gives the focus back", async () => {
  const { page, close } = await open(browser, report("demo"), "#view=explore", SMALL);
  const cell = page.locator('.cell[data-head="43"]');
  await cell.click();
  await settled(page);
  assert.equal(await inSight(page), true);
  assert.equal(await focused(page), "head-title");
  await page.keyboard.press("Escape");
  await settled(page);
  assert.equal(await page.locator(".head-detail").isVisible(), false);
  assert.match(await focused(page), /^Layer 5, head 3/);
  // By keyboard, with selected heads above the panel.
  await page.keyboard.press("Space");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Space");
  await page.keyboard.press("Enter");
  await settled(page);
  assert.equal(await page.innerText("#head-title"), "Layer 5, head 4");
  assert.equal(await inSight(page), true);
  // The head that is already open scrolls into view again.
  await page.evaluate(() => scrollTo(0, 0));
  await page.locator('.cell[data-head="44"]').click();
  await settled(page);
  assert.equal(await inSight(page), true);
  await page.click(".head-heading >> text=Close");
  await settled(page);
  assert.match(await focused(page), /^Layer 5, head 4/);
  // Back opens the closed head again.
  await page.goBack();
  await settled(page);
  assert.equal(await page.innerText("#head-title"), "Layer 5, head 4");
  await close();
});

test("a head opened from the table or by a link is in sight", async () => {
  const { page, close } = await open(browser, report("demo"), "#view=table&at=s7000", SMALL);
  await page.click('[aria-label="Open layer 2, head 6"]');
  await settled(page);
  assert.equal(await inSight(page), true);
  await page.keyboard.press("Escape");
  await settled(page);
  assert.match(await focused(page), /^Layer 2, head 6/); // the element that opened it is in another view
  await close();
  const linked = await open(browser, report("demo"), "#view=explore&head=3.5&heads=3.5_4.1", SMALL);
  await settled(linked.page);
  assert.equal(await inSight(linked.page), true);
  await linked.close();
});
