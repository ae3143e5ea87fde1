// Reads from the page what tests of the portrait, the grid and the heads compare.

export const onlySelected = (page) =>
  page.$$eval(".cell.selected", (cells) => cells.map((cell) => cell.getAttribute("aria-label").split(":")[0]).sort());
export const names = (rows) => rows.map((row) => `Layer ${row.layer}, head ${row.q_head}`).sort();
/** Waits for the address, which is written a moment after the state changed. */
export const fragment = async (page, key, value) => {
  const says = ([name, wanted]) => new URLSearchParams(location.hash.slice(1)).get(name) === wanted;
  await page.waitForFunction(says, [key, value], { timeout: 5000 });
  return new URLSearchParams(new URL(page.url()).hash.slice(1));
};
export const positions = (page) => page.$$eval(".portrait .point", (points) => points.map((p) => p.getAttribute("transform")));
