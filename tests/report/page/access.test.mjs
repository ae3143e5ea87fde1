// Accessibility: axe finds nothing, the keyboard reaches everything, and a phone shows it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { launch, open, report, require, settled } from "../browser.mjs";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true };
const VIEWS = [
  "#view=overview",
  "#view=explore&head=3.5&heads=3.5_4.1_7.7",
  "#view=flow&moved=mixed_mixed",
  "#view=table",
  "#view=provenance",
];

for (const [name, options] of Object.entries({ light: {}, dark: { colorScheme: "dark" }, phone: PHONE })) {
  test(`axe finds no violation: ${name}`, async () => {
    const { page, close } = await open(browser, report("many"), VIEWS[0], options);
    await page.evaluate(AXE);
    for (const view of VIEWS) {
      await page.evaluate((to) => (location.hash = to), view);
      await settled(page);
      const { violations } = await page.evaluate(() =>
        globalThis.axe.run({ exclude: [".figure-canvas svg"] }, { resultTypes: ["violations"] }),
      );
      const found = violations.map(
        ({ id, nodes }) =>
          `${id}: ${nodes
            .slice(0, 3)
            .map((node) => `${node.target.join(" ")} ${node.failureSummary}`)
            .join(" | ")}`,
      );
      assert.deepEqual(found, [], view);
    }
    await close();
  });
}

test("the keyboard alone reaches a head, selects, filters and sorts", async () => {
  const { page, close } = await open(browser, report("demo"));
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key);
    await settled(page);
  };
  const focused = () =>
    page.evaluate(() => document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent);
  /** Presses Tab until an element with this name has the focus. */
  const tabTo = async (wanted) => {
    for (let i = 0; i < 80; ++i) {
      await page.keyboard.press("Tab");
      if ((await focused())?.startsWith(wanted)) return;
    }
    assert.fail(`no way to ${wanted}`);
  };
  await press("Tab");
  assert.equal(await focused(), "Skip to content");
  await tabTo("Heads");
  await press("Enter");
  await tabTo("Checkpoint");
  await press("Home", "ArrowRight", "ArrowRight");
  assert.equal(await page.innerText(".where .now"), "s3000");
  await tabTo("mixed");
  await press("Space");
  assert.ok((await page.locator(".cell.out").count()) > 0);
  await press("Space");
  await tabTo("Layer 0, head 0");
  await press("ArrowDown", "ArrowDown", "ArrowRight", "Space", "ArrowRight", "Space");
  assert.equal(await page.locator(".cell.selected").count(), 2);
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.equal(outline, "solid");
  await press("Enter");
  assert.equal(await page.innerText("#head-title"), "Layer 2, head 2");
  await tabTo("s5000: ");
  await press("Enter");
  assert.equal(await page.innerText(".where .now"), "s5000");
  assert.match(await focused(), /^s5000: /);
  await tabTo("head 3");
  await press("Enter");
  assert.equal(await page.innerText("#head-title"), "Layer 2, head 3");
  // Selecting by numbers replaces the brush.
  await page.locator(".range-form summary").focus();
  await press("Enter");
  await tabTo("r_q from");
  await page.keyboard.type("0.9");
  await tabTo("Select");
  await press("Enter");
  assert.ok((await page.locator(".cell.selected").count()) > 0);
  await page.locator("nav a", { hasText: "Table" }).focus();
  await press("Enter");
  await tabTo("r_q");
  await press("Enter");
  assert.equal(await page.locator(".heads-table th", { hasText: /^r_q/ }).getAttribute("aria-sort"), "ascending");
  await page.locator("nav a", { hasText: "Flow" }).focus();
  await press("Enter");
  await tabTo("from");
  await close();
});

test("a phone shows every view without scrolling sideways", async () => {
  const { page, noted, close } = await open(browser, report("large"), "", PHONE);
  for (const view of VIEWS) {
    await page.evaluate((to) => (location.hash = to), view);
    await settled(page);
    const { wide, room } = await page.evaluate(() => ({
      wide: document.documentElement.scrollWidth,
      room: innerWidth,
    }));
    assert.ok(wide <= 390 && room === 390, `${view}: ${wide} of ${room}`);
  }
  await page.evaluate(() => (location.hash = "#view=explore"));
  await settled(page);
  await page.locator('.cell[data-head="40"]').tap();
  await settled(page);
  assert.equal(await page.innerText("#head-title"), "Layer 2, head 8");
  assert.deepEqual(noted.errors, []);
  await close();
});
