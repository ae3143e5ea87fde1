// Opens real reports in a real browser, from disk like a reader.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
export const require = createRequire(join(here, "../../report/package.json"));
const { chromium } = require("playwright-core");

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** The folder into which make_reports.py wrote. */
export const reports = process.env.ROPEWALK_REPORTS;
export const report = (name) => join(reports, name, "report.html");

export function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, args: FLAGS });
}

/** A page of a report; records every request and every error. */
export async function open(browser, file, fragment = "", options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    acceptDownloads: true,
    ...options,
  });
  const page = await context.newPage();
  const noted = { requests: [], errors: [] };
  page.on("request", (request) => noted.requests.push(request.url()));
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && noted.errors.push(message.text()));
  page.on("pageerror", (error) => noted.errors.push(String(error)));
  page.on("dialog", (dialog) => {
    noted.errors.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(`${pathToFileURL(file)}${fragment}`);
  return { page, noted, close: () => context.close() };
}

/** Rows of a CSV file as objects. */
export function readCsv(text) {
  const rows = [];
  let row = [""];
  let quoted = false;
  for (let i = 0; i < text.length; ++i) {
    const c = text[i];
    if (quoted) {
      if (c !== '"') row[row.length - 1] += c;
      else if (text[i + 1] === '"') row[row.length - 1] += text[++i];
      else quoted = false;
    } else if (c === '"') quoted = true;
    else if (c === ",") row.push("");
    else if (c === "\n") {
      rows.push(row);
      row = [""];
    } else row[row.length - 1] += c;
  }
  const [names, ...rest] = rows;
  return rest.map((fields) => Object.fromEntries(names.map((name, i) => [name, fields[i]])));
}

export const readTable = (name) => readCsv(readFileSync(join(reports, name, "qk.csv"), "utf8"));
export const readSummary = (name) => JSON.parse(readFileSync(join(reports, name, "summary.json"), "utf8"));

/** Reads a downloaded file. */
export async function downloaded(page, press) {
  const [download] = await Promise.all([page.waitForEvent("download"), press()]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

/** Waits until the page has drawn the latest state. */
export const settled = (page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** Chooses an option of a list in groups, by its key. */
export async function choose(page, label, key) {
  await page.click(`.picker-button[aria-label^="${label}: "]`);
  await page.click(`.picker-box:not([hidden]) [data-key="${key}"]`);
  await settled(page);
}

/** The position of a pair of numbers in the portrait's own coordinates. */
export const portraitSpot = (r_q, r_k) => [52 + ((r_q + 0.05) / 1.1) * 500, 520 - ((r_k + 1.05) / 2.1) * 512];

/** A number in the format of the page. */
export function shown(value, digits = 3) {
  if (value === "" || value === null || value === undefined) return "–";
  const text = Number(value).toFixed(digits);
  return text.startsWith("-") ? (Number(text) === 0 ? text.slice(1) : `−${text.slice(1)}`) : text;
}

/** A standard error; one that would round to 0 is shown as smaller than the last digit. */
export function error(se, digits = 3) {
  const text = shown(se, digits);
  return Number(se) > 0 && Number(text) === 0 ? `<${(10 ** -digits).toFixed(digits)}` : text;
}

export function withError(value, se, digits = 3) {
  const text = shown(value, digits);
  return text === "–" || se === "" || se === null ? text : `${text} ± ${error(se, digits)}`;
}
