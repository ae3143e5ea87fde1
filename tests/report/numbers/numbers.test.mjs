// Every number of a page states its source and equals it: on every page of every run.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, open, report, settled } from "../browser.mjs";
import { drawings, wrongInDrawings } from "./drawings.mjs";
import { inSight } from "./in_sight.mjs";
import { Files, wrong } from "./numbers.mjs";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

/** Checks what is visible; two numbers with one source must also be equal where they have as many decimals. */
async function check(page, files, where, bySource) {
  await settled(page);
  const { found, naked, seen } = await inSight(page);
  assert.deepEqual(naked, [], `${where}: numbers without a source`);
  const bad = found.flatMap((one) => {
    const what = wrong(files, one, seen);
    return what ? [`${one.from} shows ${one.text}: ${what}`] : [];
  });
  assert.deepEqual(bad.slice(0, 20), [], `${where}: ${bad.length} of ${found.length} numbers`);
  for (const { from, text } of found) {
    if (from.startsWith("page:")) continue;
    const number = /[+−]?\d[\d,]*(?:\.\d+)?/.exec(text)?.[0];
    if (number === undefined || number.startsWith("+")) continue;
    const key = `${from} with ${number.split(".")[1]?.length ?? 0} decimals`;
    assert.equal(bySource.get(key) ?? number, number, `${where}: ${key}`);
    bySource.set(key, number);
  }
  return found.length;
}

const press = async (page, selector) => {
  if (await page.locator(selector).count()) await page.locator(selector).first().click();
};

const RUNS = ["shipped", "awkward", "many", "hostile", "contexts", "models", "one_head", "bare"];

for (const name of RUNS)
  test(`${name}: every mark of every drawing is its file's`, async () => {
    const { page, noted, close } = await open(browser, report(name), "#view=overview");
    const blob = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent));
    const drawn = await drawings(page);
    assert.deepEqual(Object.keys(drawn), blob.figure_names);
    const { problems, checked } = wrongInDrawings(new Files(name), blob, drawn);
    assert.deepEqual(problems.slice(0, 20), [], `${problems.length} of ${checked} numbers`);
    assert.ok(checked > 5 * blob.figure_names.length, `${checked}`);
    assert.deepEqual(noted.errors, []);
    await close();
  });

test("a drawing of other numbers than its file's is noticed", async () => {
  const { page, close } = await open(browser, report("shipped"), "#view=overview");
  const blob = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent));
  const drawn = await drawings(page);
  const files = new Files("shipped");
  const changed = {
    mean: (value) => value + 1e-4,
    se: (value) => value * 1.01,
    sd: (value) => value * 1.01,
    fraction: (value) => value + 0.01,
    share: (value) => value + 0.001,
    value: (value) => value + 0.001,
    logit: (value) => value + 0.001,
    r_q: (value) => value + 0.001,
    class: () => "mixed up",
    context: (value) => value + 1,
    text: () => "99",
  };
  for (const [figure, marks] of Object.entries(drawn))
    for (const [key, change] of Object.entries(changed)) {
      const at = marks.findIndex(({ kind, items }) => (key !== "text" || kind === "text") && items.some(({ datum }) => datum[key] !== undefined && datum[key] !== null && !("phase" in datum && key === "text" && !("value" in datum))));
      if (at < 0) continue;
      const copy = structuredClone(marks);
      const item = copy[at].items.find(({ datum }) => datum[key] !== undefined && datum[key] !== null);
      item.datum[key] = change(item.datum[key]);
      if (key === "text") item.text = "99";
      const { problems } = wrongInDrawings(files, blob, { [figure]: copy });
      assert.ok(problems.length, `${figure}: ${key} of ${copy[at].name}`);
    }
  const moved = structuredClone(drawn.how_positional);
  moved.find(({ kind, name }) => kind === "symbol" && name.startsWith("markers")).items[3].y += 1;
  assert.match(wrongInDrawings(files, blob, { how_positional: moved }).problems[0], /pixels from their numbers/);
  await close();
});

for (const name of RUNS)
  test(`${name}: every number is its file's`, async () => {
    const files = new Files(name);
    const { page, noted, close } = await open(browser, report(name), "#view=overview");
    const bySource = new Map();
    const look = (where) => check(page, files, where, bySource);
    const go = async (fragment) => {
      await page.evaluate((to) => (location.hash = to), fragment);
      await settled(page);
    };
    assert.ok((await look("overview")) > 20);
    await press(page, "text=Every step");
    await look("every step");
    const { layer, q_head } = await page.evaluate(() => {
      const { heads } = JSON.parse(document.getElementById("data").textContent).table;
      const position = heads.layer.length - 1;
      return { layer: heads.layer[position], q_head: heads.q_head[position] };
    });
    const all = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent).statistics.map(({ key }) => key).join("."));
    await go(`view=explore&head=${layer}.${q_head}&columns=${all}&heads=0.0_${layer}.${q_head}`);
    for (const box of await page.locator("details.series-numbers summary").all()) await box.click();
    assert.ok((await look("head")) > 10);
    await page.locator(`.cell[data-head]`).first().hover();
    await look("tooltip of a head");
    for (const colour of ["change_r_k", "change_alpha_k", "r2cv_q"]) {
      await go(`view=explore&colour=${colour}&trails=all`);
      await look(`colour ${colour}`);
    }
    await go("view=flow");
    await press(page, ".move:not(:disabled)");
    await look("flow");
    await go(`view=table&columns=${all}`);
    assert.ok((await look("table")) > 5);
    await go(`view=table&columns=${all}.context.flag.checkpoint&rows=every-checkpoint&sort=flag&order=descending`);
    await look("table of every checkpoint");
    await go("view=provenance");
    await look("provenance");
    assert.deepEqual(noted.errors, []);
    await close();
  });
