// What the page is unsure about: flags, axes that changed, changes without meaning, and the heads to look at.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { launch, open, readCsv, readSummary, report, reports, settled } from "../browser.mjs";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

const heads = (name) => readCsv(readFileSync(join(reports, name, "heads.csv"), "utf8"));
const has = (row, flag) => row.flag.split(";").includes(flag);
const name = (row) => `L${row.layer} H${row.q_head}`;
const labels = (rows) => [...new Set(rows.map((row) => row.checkpoint))];
const go = async (page, fragment) => {
  await page.evaluate((to) => (location.hash = to), fragment);
  await settled(page);
};

test("flags of heads.csv stand in the table and are found by search", async () => {
  const here = heads("many").filter((row) => row.checkpoint === "s7000");
  const { page, close } = await open(browser, report("many"), "#view=table&at=s7000&search=sign_uncertain");
  const position = await page.$$eval(".heads-table th", (all) => all.findIndex((one) => one.dataset.column === "flag"));
  const rows = await page.$$eval(
    ".heads-table tbody tr",
    (all, at) => all.map((row) => [row.dataset.head, row.children[at].innerText.split(", ").sort().join(";")]),
    position,
  );
  const wanted = here.filter((row) => has(row, "sign_uncertain"));
  assert.ok(wanted.length > 2);
  assert.deepEqual(rows, wanted.map((row) => [name(row), row.flag.split(";").sort().join(";")]));
  await close();
});

test("a word that no row can have is said, with the nearest one", async () => {
  const { page, close } = await open(browser, report("many"), "#view=table&search=neer_tie");
  assert.equal(await page.innerText(".notice:visible"), "No row has neer_tie. Similar: near_tie.");
  await page.fill('[aria-label="Search"]', "qqqqqqqq");
  await settled(page);
  assert.equal(await page.innerText(".notice:visible"), "No row has qqqqqqqq.");
  for (const good of ["near_t mixed", "l3h2 or s70", "nope axis_changed", "layer 3"]) {
    await page.fill('[aria-label="Search"]', good);
    await settled(page);
    assert.equal(await page.locator(".notice:visible").count(), 0, good);
  }
  await close();
});

test("a head's panel says what not to trust, in sentences", async () => {
  const all = heads("shipped");
  const moved = (one, row) => one.layer === row.layer && one.q_head === row.q_head && one.checkpoint !== row.checkpoint && has(one, "axis_changed");
  const row = all.find((one) => has(one, "near_tie") && all.some((other) => moved(other, one)));
  const head = `${row.layer}.${row.q_head}`;
  const { page, close } = await open(browser, report("shipped"), `#view=explore&head=${head}&at=${row.checkpoint}`);
  const told = await page.$$eval(".care li", (items) => Object.fromEntries(items.map((one) => [one.dataset.flag, [one.className, one.innerText]])));
  const sentences = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent).flags);
  for (const flag of row.flag.split(";")) {
    assert.equal(told[flag][0], "here", flag);
    assert.ok(sentences[flag].length > 30 && told[flag][1].includes(sentences[flag]), flag);
  }
  // Other checkpoints with the flag are listed, and each label leads there.
  const elsewhere = all.filter((one) => one.layer === row.layer && one.q_head === row.q_head && one !== row && has(one, "near_tie"));
  for (const { checkpoint } of elsewhere.slice(0, 6)) assert.ok(told.near_tie[1].includes(checkpoint), checkpoint);
  const other = all.find((one) => moved(one, row));
  await page.click(`.care li[data-flag="axis_changed"] button:has-text("${other.checkpoint}")`);
  await settled(page);
  assert.equal(await page.innerText(".where strong"), other.checkpoint);
  await close();
});

test("every flag that docs/formats.md knows has a name of its own on the page", async () => {
  const page = readFileSync(new URL("../../../report/src/data/flags.ts", import.meta.url), "utf8");
  const docs = readFileSync(new URL("../../../docs/formats.md", import.meta.url), "utf8");
  const tables = docs.split("\n| flag | meaning |\n").slice(1).map((text) => text.split("\n\n")[0]);
  const names = tables.flatMap((text) => [...text.matchAll(/^\|((?: `\w+`,?)+) \|/gm)].flatMap(([, cell]) => cell.match(/\w+/g)));
  assert.ok(names.length > 15, `${names.length}`);
  for (const flag of names) assert.ok(page.includes(`"${flag}"`) || flag === "axis_changed", flag);
});

test("where the axis changed, marks are hollow and lines broken", async () => {
  const all = heads("shipped");
  const [first, , third] = labels(all).filter((label) => label !== "init");
  const moved = all.filter((row) => row.checkpoint === third && has(row, "axis_changed"));
  assert.ok(moved.length > 1);
  const { page, close } = await open(browser, report("shipped"), `#view=explore&at=${third}&trails=all`);
  assert.equal(await page.locator(".point.moved").count(), moved.length);
  const look = await page.locator(".point.moved").first().evaluate((one) => [getComputedStyle(one).fillOpacity, getComputedStyle(one).strokeDasharray]);
  assert.equal(look[0], "0");
  assert.notEqual(look[1], "none");
  assert.match(await page.innerText(".portrait-card .legend"), new RegExp(`the axis changed here.*dotted.*${moved.length} heads`, "s"));
  const steps = (d) => (d ? d.split("M").length - 1 : 0);
  const upTo = all.filter((row) => labels(all).indexOf(row.checkpoint) <= labels(all).indexOf(third) && row.checkpoint !== first);
  assert.equal(steps(await page.getAttribute(".trail.broken.all", "d")), upTo.filter((row) => has(row, "axis_changed")).length);
  // A portrait of numbers that need no axis shows no such marks.
  await go(page, `view=explore&at=${third}&trails=all&x=r2cv_q&y=r2cv_k`);
  assert.equal(await page.locator(".point.moved").count(), 0);
  assert.equal(await page.getAttribute(".trail.broken.all", "d"), "");
  // Over training, for one head and for the selected ones.
  const { layer, q_head } = moved[0];
  const breaks = all.filter((row) => row.layer === layer && row.q_head === q_head && has(row, "axis_changed")).length;
  await go(page, `view=explore&head=${layer}.${q_head}&heads=${layer}.${q_head}`);
  for (const card of ["Over training", "Selected heads over training"])
    assert.equal(steps(await page.locator(`.card[aria-label="${card}"] .series.queries:not(.mean) .line.broken`).first().getAttribute("d")), breaks, card);
  const hollow = page.locator('.card[aria-label="Over training"] .series.queries .marker.hollow');
  assert.equal(await hollow.count(), breaks + 1); // and the baseline
  await close();
});

test("changes across an axis are not comparable; the others are those of changes.csv", async () => {
  const all = heads("shipped");
  const [, second, third] = labels(all).filter((label) => label !== "init");
  const told = readCsv(readFileSync(join(reports, "shipped", "changes.csv"), "utf8")).filter(
    (row) => row.kind === "step" && row.from === second && row.to === third && row.statistic === "r_k_run",
  );
  const { page, close } = await open(browser, report("shipped"), `#view=explore&at=${third}&since=${second}&colour=change_r_k`);
  const cells = new Map(await page.$$eval(".heads-grid .cell[data-head]", (made) => made.map((one) => one.getAttribute("aria-label").split(": "))));
  const lost = told.filter((row) => row.flag === "axis_changed");
  assert.ok(lost.length > 1 && lost.length < told.length);
  for (const row of told) {
    const text = cells.get(`Layer ${row.layer}, head ${row.q_head}`);
    if (row.flag) assert.equal(text, "not comparable");
    else assert.ok(Math.abs(Number(/[−\d.]+$/.exec(text)[0].replace("−", "-")) - Number(row.change)) < 0.00051, `${text} ${row.change}`);
  }
  assert.equal(await page.locator(".heads-grid .cell.incomparable").count(), lost.length);
  assert.match(await page.innerText(".ramp-legend"), new RegExp(`not comparable:\\s+${lost.length} heads\\s*, PC0 is another axis`));
  // A number per token between contexts: no change is comparable.
  await go(page, `view=explore&since=${second}&colour=change_alpha_k`);
  assert.match(await page.innerText(".ramp-legend"), /not comparable:\s+48 heads\s*, a number per token, at another context/);
  await go(page, `view=explore&since=${second}&colour=change_r2cv_k`);
  assert.equal(await page.locator(".heads-grid .cell.incomparable").count(), 0);
  await close();
});

test("the overview says which heads to look at, and which to read with care", async () => {
  for (const run of ["shipped", "many"]) {
    const all = heads(run);
    const { top_heads: top, changed } = readSummary(run);
    const last = labels(all).at(-1);
    const { page, close } = await open(browser, report(run), "#view=overview");
    const rows = await page.$$eval("table.top-heads tbody tr", (made) =>
      made.map((row) => [row.dataset.heads, row.querySelector(".sentence").innerText, row.children[row.children.length - 2].innerText, row.lastElementChild.innerText.replace("\n", " ")]),
    );
    assert.equal(rows.length, 10);
    // Phases have contexts of their own, but the first and the last checkpoint are still compared.
    const said = await page.innerText(".card:has(table.top-heads)");
    assert.match(said, /different contexts, on which R² depends/);
    assert.doesNotMatch(said, /Only checkpoints at the context of the last one/);
    // The first lines of the file; heads with the same keys and the same sentence share a line.
    const names = ({ layer, q_heads }) => q_heads.map((q_head) => name({ layer, q_head })).join();
    const noChange = ({ effect }) => (changed && Math.abs(effect) < changed.min_change ? "too small" : "within noise");
    // Where a head's axis moved along the run, to which fresh weights do not belong, the line says when it last did.
    const axis = ({ layer, q_heads, axis_changed }) => {
      const first = labels(all).filter((label) => label !== "init")[0];
      const mine = all.filter((row) => Number(row.layer) === layer && q_heads.includes(Number(row.q_head)) && row.checkpoint !== first && row.checkpoint !== "init");
      const when = mine.filter((row) => has(row, "axis_changed")).map((row) => labels(all).indexOf(row.checkpoint));
      const last = labels(all)[Math.max(...when)];
      if (axis_changed) return `moved ${when.length ? `last at ${last}` : "little by little"}`;
      return when.length ? `came back last moved at ${last}` : "stayed";
    };
    assert.deepEqual(
      rows,
      top.slice(0, 10).map((one) => [names(one), one.sentence, one.changed ? "changed" : noChange(one), axis(one)]),
    );
    if (run === "shipped") assert.ok(rows.some(([heads]) => heads.includes(",")));
    const doubts = await page.$$eval("table.care-table tbody tr", (made) =>
      Object.fromEntries(made.map((row) => [row.dataset.flag, [...row.querySelectorAll("td")].map((one) => one.innerText)])),
    );
    for (const flag of ["axis_changed", "sign_uncertain", "near_tie"]) {
      const with_it = all.filter((row) => has(row, flag) && row.checkpoint !== "init");
      assert.equal(doubts[flag][0], String(with_it.filter((row) => row.checkpoint === last).length), flag);
      assert.equal(doubts[flag][2], String(new Set(with_it.map(name)).size), flag);
      assert.ok(doubts[flag][3].length > 20, flag);
    }
    // A button opens the head; a number selects its heads.
    await page.click("table.top-heads tbody tr:first-child button");
    await settled(page);
    assert.equal(await page.innerText("#head-title"), `Layer ${top[0].layer}, head ${top[0].q_head}`);
    assert.equal(new URLSearchParams(new URL(page.url()).hash.slice(1)).get("colour") ?? top[0].statistic, top[0].statistic);
    await go(page, "view=overview");
    await page.click('table.care-table tr[data-flag="near_tie"] td:nth-of-type(3) button');
    await settled(page);
    assert.equal(await page.locator(".cell.selected").count(), Number(doubts.near_tie[2]));
    await close();
  }
});

test("what heads to look at cost the loss stands beside them, of the smallest set, never without random sets", async () => {
  const rows = readCsv(readFileSync(join(reports, "many", "ablate.csv"), "utf8"));
  const { page, close } = await open(browser, report("many"), "#view=overview");
  const headings = await page.$$eval("table.top-heads thead th", (all) => all.map((one) => one.textContent));
  const at = headings.indexOf("loss");
  assert.equal(at, 4);
  const cells = await page.$$eval("table.top-heads tbody tr", (all, position) => all.map((row) => [...row.children[position].children].map((one) => one.innerText.replace(/\s+/g, " "))), at);
  const alone = rows.filter(({ heads }) => heads === "1");
  assert.deepEqual(cells[0], alone.map(({ set, edit }) => `+0.012 ± 0.004 ${edit} of ${set}; random sets −0.001`));
  assert.deepEqual(cells[1], rows.filter(({ heads }) => heads === "3").map(({ set, edit }) => `+0.025 ± <0.001 ${edit} of ${set} (3 heads); random sets −0.001`));
  assert.deepEqual(cells.slice(2).flat(), []);
  const none = await page.$$eval("table.top-heads tbody tr", (all, position) => all.slice(2).map((row) => row.children[position].innerText), at);
  assert.ok(none.every((text) => text === "–"));
  await close();
  // A run without edits does not have this column.
  const other = await open(browser, report("shipped"), "#view=overview");
  assert.ok(!(await other.page.$$eval("table.top-heads thead th", (all) => all.map((one) => one.textContent))).includes("loss"));
  await other.close();
});

test("where more than half of PC0 is offset, R² is one click away", async () => {
  const { page, close } = await open(browser, report("shipped"), "#view=explore&at=init");
  const { mean_pc0_offset: offset } = readSummary("shipped");
  assert.ok(offset.init.value > 0.5);
  assert.match(await page.innerText(".offset-note:visible"), new RegExp(`PC0 is mostly offset at init \\(${(100 * offset.init.value).toFixed(0)}`));
  await page.click('.offset-note button:has-text("R² of keys")');
  await settled(page);
  assert.equal(await page.getAttribute('.picker-button[aria-label^="colour: "]', "aria-label"), "colour: R² of keys, cross-validated");
  const less = Object.keys(offset).find((label) => offset[label].value < 0.5);
  await go(page, `view=explore&at=${less}`);
  assert.equal(await page.locator(".offset-note:visible").count(), 0);
  await close();
});

test("at 1,280 px the links of wide tables are in sight, and the names of their rows stay", async () => {
  const { page, close } = await open(browser, report("shipped"), "#view=overview");
  for (const table of ["table.changes", "table.top-heads", "table.care-table"]) {
    const outside = await page.$$eval(`${table} button.link`, (links) =>
      links.filter((one) => {
        const box = one.closest(".scroller").getBoundingClientRect();
        const area = one.getBoundingClientRect();
        return area.left < box.left || area.right > box.right;
      }).length,
    );
    assert.ok((await page.locator(`${table} button.link`).count()) > 3, table);
    assert.equal(outside, 0, table);
  }
  await page.setViewportSize({ width: 400, height: 800 });
  const scroller = page.locator('[aria-label="What changed between checkpoints"]');
  await scroller.evaluate((one) => (one.scrollLeft = 300));
  const [box, row] = await Promise.all([scroller.boundingBox(), page.locator("table.changes tbody th").first().boundingBox()]);
  assert.ok(Math.abs(row.x - box.x) < 2);
  await close();
});

test("on a phone, heads to look at and doubts are read without scrolling sideways", async () => {
  const { page, close } = await open(browser, report("shipped"), "#view=overview", { viewport: { width: 400, height: 800 } });
  for (const table of ["table.top-heads", "table.care-table"]) {
    const found = await page.$eval(table, (one) => {
      const box = one.closest(".scroller").getBoundingClientRect();
      const cells = [...one.querySelectorAll("tbody :is(th, td)")];
      return {
        wide: one.closest(".scroller").scrollWidth - box.width,
        cut: cells.filter((cell) => cell.getBoundingClientRect().right > box.right + 1 || cell.scrollWidth > cell.clientWidth).map((cell) => cell.innerText),
        names: [...new Set(cells.filter((cell) => cell.tagName === "TD").map((cell) => cell.dataset.name))],
        headings: [...one.querySelectorAll("thead th")].slice(1).map((cell) => cell.textContent),
      };
    });
    assert.ok(found.wide <= 1, `${table}: ${found.wide}`);
    assert.deepEqual(found.cut, [], table);
    assert.deepEqual(found.names, found.headings, "each cell has its column's name");
  }
  await close();
});
