// Portrait, grid and heads: time, clicks, brush, filters, links; numbers compared with qk.csv.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { choose, launch, open, portraitSpot, readTable, report, settled, shown, withError } from "../browser.mjs";
import { fragment, names, onlySelected, positions } from "./explore_page.mjs";

let browser, table;
before(async () => {
  browser = await launch();
  table = readTable("demo");
});
after(() => browser.close());

const pc0 = (label) => table.filter((row) => row.checkpoint === label && row.pc === "0");
/** The position of a pair of numbers on the screen. */
async function spot(page, r_q, r_k) {
  const box = await page.locator("svg.portrait").boundingBox();
  const scale = box.width / 560;
  const [x, y] = portraitSpot(r_q, r_k);
  return { x: box.x + scale * x, y: box.y + scale * y };
}

test("the slider moves the run, by mouse and by keyboard, on axes that stay", async () => {
  const { page, noted, close } = await open(browser, report("demo"), "#view=explore");
  const ticks = () =>
    page.$$eval(".portrait .tick", (all) => all.map((t) => t.textContent + t.getAttribute("x")).join());
  const axes = await ticks();
  const slider = page.getByLabel("Checkpoint", { exact: true });
  const before = await positions(page);
  await slider.focus();
  await page.keyboard.press("Home");
  await settled(page);
  assert.equal(await page.innerText(".where .now"), "s1000");
  assert.equal(await slider.getAttribute("aria-valuetext"), "s1000");
  assert.notDeepEqual(await positions(page), before);
  await page.keyboard.press("ArrowRight");
  await settled(page);
  assert.equal(await page.innerText(".where .now"), "s2000");
  const box = await slider.boundingBox();
  await page.mouse.click(box.x + box.width - 3, box.y + box.height / 2);
  await settled(page);
  assert.equal(await page.innerText(".where .now"), "s10000");
  assert.deepEqual(await positions(page), before);
  assert.equal(await ticks(), axes);
  await fragment(page, "at", null);
  assert.deepEqual(noted.errors, []);
  await close();
});

test("play walks through the run and stops at its end", async () => {
  const { page, close } = await open(browser, report("demo"), "#view=explore&at=s8000&trails=all");
  await page.click('[aria-label="Play"]');
  await page.waitForSelector('[aria-label="Pause"]');
  await page.waitForFunction(() => document.querySelector(".where .now").textContent === "s10000");
  await page.waitForSelector('[aria-label="Play"]');
  assert.ok((await page.getAttribute(".trail.all", "d")).length > 1000);
  await close();
});

test("points stand where qk.csv says", async () => {
  const { page, close } = await open(browser, report("demo"), "#view=explore&at=s4000");
  const found = await positions(page);
  const rows = pc0("s4000");
  assert.equal(found.length, rows.length);
  rows.forEach((row, i) => {
    const [x, y] = found[i].match(/-?[\d.]+/g).map(Number);
    const wanted = portraitSpot(Number(row.r_q), Number(row.r_k));
    assert.ok(Math.abs(x - wanted[0]) < 0.01 && Math.abs(y - wanted[1]) < 0.01);
  });
  await close();
});

test("a baseline is beside the run, not a step of it", async () => {
  const { page, close } = await open(browser, report("demo"), "#view=explore");
  assert.equal(await page.getByLabel("Checkpoint", { exact: true }).getAttribute("max"), "9");
  await page.click(".baselines button");
  await settled(page);
  assert.match(await page.innerText(".where"), /init\s+baseline/);
  await fragment(page, "at", "init");
  await close();
});

test("brushing selects in the grid, the trajectories and the table", async () => {
  const { page, close } = await open(browser, report("demo"), "#view=explore");
  const from = await spot(page, 0.72, 0.98);
  const to = await spot(page, 1.02, 0.5);
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move((from.x + to.x) / 2, (from.y + to.y) / 2);
  await page.mouse.move(to.x, to.y, { steps: 4 });
  await page.mouse.up();
  await settled(page);
  const inside = pc0("s10000").filter((row) => row.r_q > 0.72 && row.r_k > 0.5 && row.r_k < 0.98);
  assert.ok(inside.length > 5);
  assert.deepEqual(await onlySelected(page), names(inside));
  assert.match(
    await page.innerText("section[aria-label='Selected heads over training'] .note"),
    new RegExp(`^${inside.length} heads`),
  );
  await fragment(page, "heads", inside.map((row) => `${row.layer}.${row.q_head}`).join("_"));
  await page.click("nav >> text=Table");
  await settled(page);
  assert.equal(await page.innerText(".toolbar > [role=status]"), `${inside.length} rows`);
  await close();
});

test("a click opens a head with qk.csv's numbers, components, history and siblings", async () => {
  const { page, close } = await open(browser, report("demo"), "#view=explore&at=s5000");
  await page.click('[data-head="43"]:not(.point)');
  await settled(page);
  assert.equal(await page.innerText("#head-title"), "Layer 5, head 3");
  const of = (pc) => table.filter((row) => row.layer === "5" && row.q_head === "3" && row.pc === pc);
  const rows = await page.$$eval(".head-numbers tbody tr", (all) =>
    all.map((row) => [row.dataset.checkpoint, ...[...row.querySelectorAll("td")].map((c) => c.innerText.trim())]),
  );
  assert.deepEqual(
    rows.map((row) => row.slice(0, 7)),
    of("0").map((row) => [
      row.checkpoint,
      row.class,
      row.flag.replaceAll(";", ", "),
      withError(row.r_q, row.r_q_se),
      withError(row.r_k, row.r_k_se),
      withError(row.explained_variance, row.explained_variance_se),
      shown(row.pc0_stability),
    ]),
  );
  const components = await page.$$eval(".component-numbers tbody tr", (all) =>
    all.map((row) => [...row.querySelectorAll("td")].map((c) => c.innerText)),
  );
  const here = table.filter((row) => row.checkpoint === "s5000" && row.layer === "5" && row.q_head === "3");
  assert.equal(components.length, 10);
  assert.deepEqual(
    components,
    here.map((row) => [
      withError(row.explained_variance, row.explained_variance_se),
      withError(row.r_q, row.r_q_se),
      withError(row.r_k, row.r_k_se),
    ]),
  );
  assert.deepEqual(
    await page.$$eval(".history-step", (all) => all.map((step) => step.title)),
    of("0").map((row) => `${row.checkpoint}: ${row.class}`),
  );
  assert.deepEqual(
    await page.$$eval(".sibling-name", (all) => all.map((s) => s.textContent)),
    [0, 1, 2, 3].map((h) => `head ${h}`),
  );
  assert.equal(await page.locator('.head-detail .card[aria-label="Over training"] .series.queries .error').count(), 11);
  await page.click('.sibling:has-text("head 1")');
  await settled(page);
  await fragment(page, "head", "5.1");
  // The portrait reacts to clicks too.
  const target = pc0("s5000").find((row) => row.layer === "7" && row.q_head === "2");
  await page.evaluate(() => scrollTo(0, 0));
  const at = await spot(page, Number(target.r_q), Number(target.r_k));
  await page.mouse.click(at.x, at.y);
  await settled(page);
  assert.equal(await page.innerText("#head-title"), "Layer 7, head 2");
  await close();
});

test("two heads that share their keys have tiles as small as four have", async () => {
  const { page, close } = await open(browser, report("edited"), "#view=explore&head=0.0");
  const widths = await page.$$eval(".sibling", (all) => all.map((one) => one.getBoundingClientRect().width));
  assert.equal(widths.length, 2);
  assert.ok(widths.every((width) => width < 320), `${widths}`);
  await close();
});

test("filters leave the heads that qk.csv says", async () => {
  const { page, close } = await open(browser, report("demo"), "#view=explore");
  const rows = pc0("s10000");
  const left = () =>
    page.$$eval(".cell[data-head]:not(.out)", (cells) =>
      cells.map((c) => c.getAttribute("aria-label").split(":")[0]).sort(),
    );
  await page.fill('[aria-label="First layer"]', "2");
  await page.fill('[aria-label="Last layer"]', "8");
  await page.keyboard.press("Tab");
  await page.click('.filters >> text="NoPE"');
  await settled(page);
  let expected = rows.filter((row) => row.layer >= 2 && row.layer <= 8 && row.rope === "0");
  assert.deepEqual(await left(), names(expected));
  await page.click('.filters >> text="mixed"');
  await settled(page);
  expected = expected.filter((row) => row.class !== "mixed");
  assert.deepEqual(await left(), names(expected));
  assert.equal(await page.locator(".portrait .point:not(.out)").count(), expected.length);
  assert.match(await page.innerText(".filters [role=status]"), new RegExp(`^${expected.length} heads? of 96`));
  await page.click("text=Reset filters");
  await settled(page);
  assert.equal((await left()).length, 96);
  await close();
});

test("every quantity colours the grid and says its number", async () => {
  const { page, close } = await open(browser, report("demo"), "#view=explore&at=s3000&since=s1000");
  const row = pc0("s3000").find((r) => r.layer === "1" && r.q_head === "4");
  const first = pc0("s1000").find((r) => r.layer === "1" && r.q_head === "4");
  // The choice, how it is displayed, the address, and the text of the cell.
  const expected = [
    ["r_q", "value", "r_q", `r_q ${shown(row.r_q)}`],
    ["r_q", "error", "r_q_se", `standard error of r_q ${shown(row.r_q_se)}`],
    ["r_q", "change", "change_r_q", `change of r_q ${shown(row.r_q - first.r_q)}`],
    ["r_k", "change", "change_r_k", `change of r_k, signed ${shown(row.r_k - first.r_k)}`],
    ["r_k", "value", "r_k", `r_k, signed ${shown(row.r_k)}`],
    ["abs_r_k", "value", "abs_r_k", `|r_k| ${shown(Math.abs(row.r_k))}`],
    ["pc0_stability", "value", "pc0_stability", `stability of PC0 ${shown(row.pc0_stability)}`],
    ["explained_variance", "value", "explained_variance", `explained variance of PC0 ${shown(row.explained_variance)}`],
    ["class", "value", null, row.class],
  ];
  const cell = page.locator('.cell[data-head="12"]');
  for (const [key, aspect, colour, text] of expected) {
    await choose(page, "colour", key);
    await page.getByLabel("shown", { exact: true }).selectOption(aspect);
    await settled(page);
    assert.equal(await cell.getAttribute("aria-label"), `Layer 1, head 4: ${text}`);
    assert.equal(await page.getByLabel("since", { exact: true }).isVisible(), aspect === "change");
    await fragment(page, "colour", colour);
  }
  assert.equal(await page.locator(".nope-mark").count(), 3);
  assert.equal(await page.locator(".cell.group-start").count(), 12);
  await close();
});

test("a link brings back view, checkpoint, selection and filters", async () => {
  const link =
    "#view=explore&at=s6000&since=s2000&colour=change_r_q&head=4.2&heads=4.2_4.3_9.7&layers=3-10&classes=mixed_q-positional_position-dominated&rope=rope";
  const { page, close } = await open(browser, report("demo"), link);
  assert.equal(await page.innerText(".where .now"), "s6000");
  assert.equal(await page.innerText("#head-title"), "Layer 4, head 2");
  assert.equal(await page.locator(".cell.selected").count(), 3);
  assert.equal(await page.inputValue('[aria-label="First layer"]'), "3");
  assert.equal(await page.getByLabel("since", { exact: true }).locator("option:checked").innerText(), "s2000");
  const given = Object.fromEntries(new URLSearchParams(link.slice(1)));
  await page.click('.sibling:has-text("head 3")');
  const now = Object.fromEntries(await fragment(page, "head", "4.3"));
  const sorted = (text) => text.split("_").sort().join("_");
  assert.equal(sorted(now.classes), sorted(given.classes));
  assert.deepEqual({ ...now, classes: "" }, { ...given, classes: "", head: "4.3" });
  // A link to things that this run does not have opens the page in its initial state.
  await page.goto(page.url().split("#")[0] + "#view=nowhere&at=gone&head=99.99&layers=9-2&heads=x_1.2.3");
  await settled(page);
  assert.equal(await page.locator(".overview").isVisible(), true);
  await close();
});

test("the list of statistics is searched, says what each means, and works by keyboard", async () => {
  const { page, close } = await open(browser, report("demo"), "#view=explore");
  const opener = page.locator('.picker-button[aria-label^="colour: "]');
  await opener.focus();
  await page.keyboard.press("Enter");
  await page.keyboard.type("overlap"); // the word only occurs in a definition
  const left = page.locator(".picker-box:not([hidden]) .picker-option:not([hidden])");
  assert.deepEqual(await left.evaluateAll((all) => all.map((one) => one.dataset.key)), ["pc0_stability"]);
  assert.match(await page.innerText(".picker-box:not([hidden]) .picker-definition"), /^smallest overlap of PC0/);
  await page.keyboard.press("Enter");
  await fragment(page, "colour", "pc0_stability");
  assert.equal(await opener.getAttribute("aria-label"), "colour: stability of PC0");
  assert.equal(await opener.evaluate((one) => one === document.activeElement), true);
  await page.keyboard.press("Enter");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Escape"); // changes nothing
  assert.equal(await page.locator(".picker-box:not([hidden])").count(), 0);
  assert.equal(await opener.getAttribute("aria-label"), "colour: stability of PC0");
  await page.mouse.move(0, 0);
  await opener.hover();
  assert.match(await page.innerText(".tooltip"), /^smallest overlap of PC0/);
  await close();
});

test("a head's panel has every number with its interval, and what colours the grid over training", async () => {
  const { page, close } = await open(browser, report("demo"), "#view=explore&at=s5000&head=5.3&colour=pc0_stability");
  const row = pc0("s5000").find((one) => one.layer === "5" && one.q_head === "3");
  const cells = (key) =>
    page.$$eval(`.all-numbers [data-statistic="${key}"] td`, (all) => all.map((cell) => cell.innerText));
  const t95 = await page.evaluate(
    () => JSON.parse(document.getElementById("data").textContent).summary.checkpoints.find((c) => c.label === "s5000").t95,
  );
  for (const key of ["r_q", "r_k", "explained_variance"]) {
    const [value, se] = [Number(row[key]), Number(row[`${key}_se`])];
    const [low, high] = [value - t95 * se, value + t95 * se].map((end) => Math.min(Math.max(end, -1), 1));
    assert.deepEqual(await cells(key), [shown(value), shown(se), `${shown(low)} to ${shown(high)}`]);
  }
  assert.deepEqual(await cells("pc0_stability"), [shown(row.pc0_stability), "–", "–"]);
  await page.hover('.all-numbers [data-statistic="pc0_stability"] th');
  assert.match(await page.innerText(".tooltip"), /smallest overlap/);
  assert.equal(await page.locator(".coloured .series .marker").count(), 11);
  await close();
});
