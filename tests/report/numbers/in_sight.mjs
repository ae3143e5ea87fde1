// Collects the numbers of a page that a reader sees.

/**
 * The visible numbers: those with a source, and digits without one that are not part of a name. Ticks and titles of
 * drawings are scales, not numbers; words of documents (.edge-text) are text; figures are checked mark by mark (drawings.mjs).
 */
export function inSight(page) {
  return page.evaluate(() => {
    const blob = JSON.parse(document.getElementById("data").textContent);
    const { checkpoints } = blob.table;
    const plain = (text) => text.replaceAll("`", "");
    const names = [
      ...checkpoints.flatMap(({ label, phase, model }) => [label, phase, model]),
      blob.title,
      ...[...blob.statistics, ...blob.series.statistics].flatMap(({ key, title, definition, readings = [] }) => [
        plain(definition),
        title,
        ...readings.flatMap(({ key: one, name, hint, mean_name }) => [name, mean_name, one, plain(hint)]),
        key,
      ]),
      ...Object.values(blob.flags ?? {}),
      ...Object.keys(blob.flags ?? {}),
      ...blob.table.flags.names.concat(blob.table.head_flags?.names ?? []).flatMap((joined) => joined.split(";")),
      ...Object.values(blob.figures).flatMap(({ title }) => [title?.text]),
      ...blob.figure_names.map((name) => name.replaceAll("_", " ")),
    ]
      .filter((name) => name && /\d/.test(name))
      .sort((a, b) => b.length - a.length);
    const EXEMPT = "script, style, noscript, pre, option, input, select, .figure-canvas, [data-scale], svg .tick, svg .axis-title, svg title, svg .zone, svg .chart-mark, .time-ticks, .row-name, .edge-text";
    const CONSTANTS = / @\d+|\bPC\d+|PC0's|\bL\d+ H\d+|\b[Ll]ayers? \d+|\bhead \d+|\bKV head \d+|\bpair \d+|SHA-256|95 % (?:binomial )?interval|±1 standard error|near 0 or 100 %/g;
    const known = new Set();
    const [found, naked] = [[], []];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
      const parent = node.parentElement;
      const numbered = parent.closest("[data-number]");
      if ((!numbered && !/\d/.test(node.data)) || parent.closest(EXEMPT) || !parent.checkVisibility()) continue;
      if (numbered) {
        if (known.has(numbered)) continue;
        known.add(numbered);
        found.push({
          from: numbered.dataset.number,
          text: numbered.textContent,
          percent: numbered.dataset.unit === "%" || /\d %|\) %/.test(numbered.textContent),
          absolute: "absolute" in numbered.dataset,
        });
        continue;
      }
      let text = node.data;
      for (const name of names) text = text.replaceAll(name, "");
      if (/\d/.test(text.replace(CONSTANTS, ""))) naked.push(`${parent.tagName} ${parent.className}: ${node.data}`);
    }
    const count = (selector) => [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility()).length;
    const fragment = new URLSearchParams(location.hash.slice(1));
    const chart = [...document.querySelectorAll(".trajectories figure")].find((one) => one.checkVisibility());
    const seen = {
      at: document.querySelector(".where .now")?.textContent,
      everyCheckpoint: fragment.get("rows") === "every-checkpoint",
      selected: new Set((fragment.get("heads") ?? "").split("_").filter(Boolean)).size,
      tableRows: count(".heads-table tbody tr"),
      tablePage: 1,
      // Layer and head are always shown, so the list of columns does not have them.
      columns: [count(".heads-table thead th"), 2 + document.querySelectorAll('[aria-multiselectable="true"] .picker-option').length],
      incomparable: count(".heads-grid .cell.incomparable"),
      lines: (chart?.querySelectorAll("g.series").length ?? 0) - 1,
      leftOut: blob.series.left_out,
      version: blob.ropewalk,
    };
    return { found, naked, seen };
  });
}
