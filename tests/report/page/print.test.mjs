// Print: everything is drawn, nothing is cut, colours are kept, the checkpoint is named.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, open, readTable, report, settled } from "../browser.mjs";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

const PAPER = { viewport: { width: 703, height: 1030 }, colorScheme: "dark" }; // A4 within its margins
const VIEWS = ["overview", "explore&head=3.5&heads=3.5_4.1&colour=r_k", "flow&moved=mixed_mixed", "table", "provenance"];

/** Tables, figures and boxes that are too small for their content, or too large for the page. */
const cut = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll(".scroller, .grid-scroll, table, svg.chart, .figure-canvas")]
      .filter((one) => one.offsetParent !== null || one instanceof SVGElement)
      .filter((one) => {
        const area = one.getBoundingClientRect();
        const style = getComputedStyle(one);
        const hides = style.overflowX !== "visible" && !(one instanceof SVGElement);
        return area.width > 0 && (area.right > innerWidth + 1 || (hides && one.scrollWidth > one.clientWidth + 1));
      })
      .map((one) => `${one.className.baseVal ?? one.className} ${one.getAttribute("aria-label") ?? ""}`),
  );

test("figures that were not scrolled to are on the paper", async () => {
  const { page, close } = await open(browser, report("demo"), "", { viewport: { width: 1280, height: 300 } });
  await page.evaluate(() => {
    addEventListener("afterprint", () => (window.printed = document.querySelectorAll("[data-figure] svg").length));
  });
  assert.ok((await page.locator("[data-figure] svg").count()) < 6);
  const pdf = await page.pdf({ format: "A4" });
  assert.equal(await page.evaluate(() => window.printed), 6);
  // The same as after all figures were seen, so they were drawn in time.
  const again = await page.pdf({ format: "A4" });
  assert.ok(Math.abs(pdf.length - again.length) < 200, `${pdf.length} ${again.length}`);
  await close();
});

test("every view fits the paper, in ink on white, with its checkpoint", async () => {
  for (const view of VIEWS) {
    const { page, noted, close } = await open(browser, report("demo"), `#view=${view}&at=s6000&layers=1-9`, PAPER);
    const controlled = /^(explore|flow|table)/.test(view);
    assert.equal(await page.locator(".print-line").isVisible(), false);
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    await settled(page);
    assert.deepEqual(await cut(page), [], view);
    const { ground, text } = await page.evaluate(() => ({
      ground: getComputedStyle(document.body).backgroundColor,
      text: getComputedStyle(document.body).color,
    }));
    assert.deepEqual([ground, text], ["rgb(255, 255, 255)", "rgb(27, 31, 36)"], view);
    if (controlled) assert.match(await page.innerText(".print-line"), /^Checkpoint s6000 · .*layers 1 to 9/);
    assert.equal(await page.locator("nav, .controls, .toolbar").locator("visible=true").count(), 0);
    if (view.startsWith("explore")) {
      const colours = await page.$$eval(".cell[data-head]", (cells) =>
        cells.map((cell) => [getComputedStyle(cell).printColorAdjust, cell.style.getPropertyValue("--c")]),
      );
      assert.ok(colours.every(([adjust]) => adjust === "exact"));
      assert.equal(await page.locator(".heads-grid").evaluate((grid) => getComputedStyle(grid).breakInside), "avoid");
      // The colours of a light page, where the middle of diverging colours is nearly white.
      assert.ok(colours.some(([, colour]) => colour.match(/\d+/g)?.every((channel) => channel > 180)));
    }
    // The page is unchanged afterwards.
    await page.emulateMedia({ media: "screen", colorScheme: "dark" });
    await settled(page);
    assert.notEqual(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), ground);
    assert.deepEqual(noted.errors, []);
    await close();
  }
});

test("a run with losses, contexts and edits fits the paper too", async () => {
  for (const name of ["many", "awkward", "shipped"]) {
    const { page, close } = await open(browser, report(name), "#view=overview", PAPER);
    const columns = () => page.$$eval("table.checkpoints", (all) => all.map((one) => [...one.querySelectorAll("thead th")].map((th) => th.textContent)));
    const [whole] = await columns();
    await page.emulateMedia({ media: "print" });
    await settled(page);
    assert.deepEqual(await cut(page), [], name);
    const printed = await columns();
    assert.equal(printed.length, 2, "means, then classes");
    assert.deepEqual(new Set(printed.flat()), new Set(whole));
    await close();
  }
});

test("the table is printed whole, not its first page", async () => {
  const { page, close } = await open(browser, report("demo"), "#view=table&at=s6000&search=r_q > 0.5", PAPER);
  const rows = () => page.locator(".heads-table tbody tr").count();
  const wanted = readTable("demo").filter((row) => row.checkpoint === "s6000" && row.pc === "0" && row.r_q > 0.5);
  assert.ok(wanted.length > 50);
  assert.equal(await rows(), 50);
  await page.emulateMedia({ media: "print" });
  await settled(page);
  assert.equal(await rows(), wanted.length);
  assert.match(await page.innerText(".print-line"), /search: r_q > 0.5/);
  await page.emulateMedia({ media: "screen" });
  await settled(page);
  assert.equal(await rows(), 50);
  await close();
});

test("steps of What changed that a sheet has no room for stand below each other", async () => {
  const { page, close } = await open(browser, report("pythia"), "", PAPER);
  await page.click("text=Every step");
  const steps = () => page.$$eval("table.changes", (all) => all.map((one) => one.querySelectorAll("th[data-from]").length));
  const [all] = await steps();
  assert.ok(all > 100, `${all}`);
  await page.emulateMedia({ media: "print" });
  await settled(page);
  const printed = await steps();
  assert.ok(printed.every((some) => some <= 5), `${printed}`);
  assert.equal(printed.reduce((a, b) => a + b), all);
  assert.deepEqual(await cut(page), []);
  await page.emulateMedia({ media: "screen" });
  await settled(page);
  assert.deepEqual(await steps(), [all]);
  await close();
});
