// The portrait: positions of names and trails, any two numbers as axes, and saving it as a file.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { choose, downloaded, launch, open, portraitSpot, readTable, report, settled } from "../browser.mjs";
import { fragment, names, onlySelected, positions } from "./explore_page.mjs";

let browser, table;
before(async () => {
  browser = await launch();
  table = readTable("demo");
});
after(() => browser.close());

const pc0 = (label) => table.filter((row) => row.checkpoint === label && row.pc === "0");

test("the portrait can be saved", async () => {
  const { page, close } = await open(browser, report("demo"), "#view=explore&at=s2000");
  const spec = JSON.parse(
    (await downloaded(page, () => page.click('[aria-label="Download the portrait as JSON"]'))).bytes,
  );
  const rows = spec.layer.at(-1).data.values;
  assert.deepEqual(
    rows.map((row) => row.r_q),
    pc0("s2000").map((row) => Number(row.r_q)),
  );
  const svg = await downloaded(page, () => page.click('[aria-label="Download the portrait as SVG"]'));
  assert.equal(svg.name, "demo-portrait-s2000.svg");
  await close();
});

test("the name of a class does not lie on points of the portrait", async () => {
  let shown = 0;
  const labels = [...new Set(table.map((row) => row.checkpoint))];
  for (const label of labels) {
    const { page, close } = await open(browser, report("demo"), `#view=explore&at=${label}`);
    const found = await page.evaluate(() => {
      const visible = [...document.querySelectorAll(".portrait .zone")].filter((zone) => zone.getAttribute("visibility") !== "hidden");
      const points = [...document.querySelectorAll(".portrait .point")].map((point) => point.getBoundingClientRect());
      const boxes = visible.map((zone) => zone.getBoundingClientRect());
      const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
      return { names: visible.length, on: boxes.filter((box) => !points.every((point) => apart(box, point))).length };
    });
    assert.equal(found.on, 0, label);
    shown += found.names;
    await close();
  }
  assert.ok(shown > 3 * labels.length, "most have a free place");
});

test("the portrait takes any two numbers, and a link keeps them", async () => {
  const { page, noted, close } = await open(browser, report("demo"), "#view=explore&at=s4000");
  await choose(page, "across", "explained_variance");
  await choose(page, "up", "pc0_stability");
  const link = await fragment(page, "y", "pc0_stability");
  assert.equal(link.get("x"), "explained_variance");
  assert.match(await page.textContent('[data-axis="x"]'), /^explained variance of PC0/);
  assert.equal(await page.locator(".portrait .threshold, .portrait .zone").count(), 0);
  /** Whether positions on the screen are a linear function of numbers, so that the axis is theirs. */
  const straight = (positions, numbers, way) => {
    const low = numbers.indexOf(Math.min(...numbers));
    const high = numbers.indexOf(Math.max(...numbers));
    const slope = (positions[high] - positions[low]) / (numbers[high] - numbers[low]);
    assert.ok(slope * way > 0);
    numbers.forEach((n, i) => assert.ok(Math.abs(positions[i] - positions[low] - slope * (n - numbers[low])) < 0.05));
  };
  const check = async (label) => {
    const found = (await positions(page)).map((text) => text.match(/-?[\d.]+/g).map(Number));
    const rows = pc0(label);
    straight(found.map(([x]) => x), rows.map((row) => Number(row.explained_variance)), 1);
    straight(found.map(([, y]) => y), rows.map((row) => Number(row.pc0_stability)), -1);
    return page.$$eval(".portrait .tick", (all) => all.map((t) => t.textContent + t.getAttribute("x")).join());
  };
  const axes = await check("s4000");
  await page.goto(`${page.url().split("#")[0]}#view=explore&at=s9000&x=explained_variance&y=pc0_stability`);
  await settled(page);
  assert.equal(await check("s9000"), axes); // the same axes at every checkpoint
  // Selecting by numbers follows the axes.
  await page.click(".range-form summary");
  await page.fill('[aria-label="explained_variance from"]', "0.3");
  await page.click('.range-form >> text="Select"');
  await settled(page);
  assert.deepEqual(await onlySelected(page), names(pc0("s9000").filter((row) => row.explained_variance >= 0.3)));
  assert.match(await page.innerText("section[aria-label='Selected heads over training']"), /stability of PC0/);
  assert.deepEqual(noted.errors, []);
  await close();
});

test("trails say which way they go", async () => {
  const { page, close } = await open(browser, report("demo"), "#view=explore&heads=2.3");
  const numbers = (text) => text.match(/-?[\d.]+/g).map(Number);
  const steps = ["s1000", "s2000", "s3000", "s4000", "s5000", "s6000", "s7000", "s8000", "s9000", "s10000"]
    .map((label) => pc0(label).find((row) => row.layer === "2" && row.q_head === "3"))
    .map((row) => portraitSpot(Number(row.r_q), Number(row.r_k)));
  const long = steps.slice(1).flatMap((to, i) => {
    const way = [to[0] - steps[i][0], to[1] - steps[i][1]];
    return Math.hypot(...way) >= 13 ? [way] : [];
  });
  const arrows = (await page.getAttribute(".trail-arrow.chosen", "d")).split("Z").filter((one) => one).map(numbers);
  assert.ok(long.length > 3);
  assert.equal(arrows.length, long.length);
  arrows.forEach(([ax, ay, tipX, tipY, bx, by], i) => {
    const along = (tipX - (ax + bx) / 2) * long[i][0] + (tipY - (ay + by) / 2) * long[i][1];
    assert.ok(along > 0, `arrow ${i}`);
  });
  const [x, y] = numbers(await page.getAttribute(".trail-start.chosen", "d"));
  assert.ok(Math.hypot(x + 2.6 - steps[0][0], y - steps[0][1]) < 0.05);
  await close();
});
