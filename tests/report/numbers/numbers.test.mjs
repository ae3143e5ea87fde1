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

const RUNS = ["shipped", "awkward", "many", "edited", "hostile", "contexts", "models", "one_head", "bare"];

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
  await noticed("shipped");
});

test("marks of effects that are not their files' are noticed", async () => {
  const { files, blob, drawn } = await noticed("edited", ["ablate", "ablate_training", "loss"]);
  const problems = (figure, name, change) => {
    const marks = structuredClone(drawn[figure]);
    change(marks.find((one) => name.test(one.name)).items);
    return wrongInDrawings(files, blob, { [figure]: marks }).problems;
  };
  assert.match(problems("ablate", /edit_1_layer_2_/, (items) => items.pop())[0], /strokes of/);
  assert.match(problems("ablate", /edit_1_layer_2_/, (items) => (items[0].x += 1))[0], /pixels from their numbers/);
  assert.match(problems("ablate_training", /^markers_marks/, (items) => (items[0].datum.baseline = true))[0], /among fresh weights/);
  assert.match(problems("ablate_training", /^markers_3_marks/, (items) => (items[0].y += 1))[0], /pixels from their numbers/);
  // Fresh weights have marks of their own, left of the run, and no line leads there.
  const marks = drawn.ablate_training;
  const random = marks.filter(({ name }) => /^baseline_markers/.test(name));
  assert.equal(random.length, 4);
  assert.ok(random.every(({ items }) => items.every(({ datum }) => datum.checkpoint === "init")));
  for (const { name, items } of marks.filter((one) => /^line_/.test(one.name)))
    assert.deepEqual(items.map(({ datum }) => datum.checkpoint), ["early", "middle", "late", "after"], name);
});

async function noticed(run, figures) {
  const { page, close } = await open(browser, report(run), "#view=overview");
  const blob = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent));
  const drawn = await drawings(page);
  const files = new Files(run);
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
    se_high: (value) => value + 0.01,
    band_low: (value) => value - 0.01,
    high: (value) => value + 0.01,
    kind: () => "mixed up",
  };
  for (const [figure, marks] of Object.entries(drawn).filter(([name]) => figures?.includes(name) ?? true))
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
  return { files, blob, drawn };
}

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
