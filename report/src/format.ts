import type { Leaf } from "./data/blob";

/** Stands for a number that is missing. */
export const DASH = "–";

export function decimals(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined || Number.isNaN(value)) return DASH;
  const text = value.toFixed(digits);
  if (!text.startsWith("-")) return text;
  return /^-0(\.0*)?$/.test(text) ? text.slice(1) : `−${text.slice(1)}`;
}

/** A standard error; one that would round to 0 is shown as smaller than the last digit. */
export function errorText(se: number, digits = 3): string {
  const text = decimals(se, digits);
  return se > 0 && Number(text) === 0 ? `<${(10 ** -digits).toFixed(digits)}` : text;
}

/** "0.812 ± 0.004"; the error is left out where it is not known, and where nothing varied: that is no certainty. `unit`: of the error, where it is not the number's. */
export function withError(value: number | null | undefined, se: number | null | undefined, digits = 3, unit = ""): string {
  const text = decimals(value, digits);
  return text === DASH || !se
    ? text
    : `${text} ± ${errorText(se, unit ? 2 : digits)}${unit && ` ${unit}`}`;
}

/** The unit of a statistic's error, where it is not its own: a distance that jumps is known to a part of an octave. */
export function errorUnit({ step }: { step: boolean }): string {
  return step ? "octaves" : "";
}

/** "+0.031", "−0.002" */
export function signed(value: number | null | undefined, digits = 3): string {
  const text = decimals(value, digits);
  return text === DASH || text.startsWith("−") || Number(text) === 0 ? text : `+${text}`;
}

/** A share in per cent: "16.7 ± 2.1", or "0.0 (0 to 39)" with an interval. */
export function shareText({ value, se, low, high }: Leaf): string {
  if (value === null) return DASH;
  if (low === undefined || high === undefined) return withError(100 * value, se === null ? null : 100 * se, 1);
  return `${decimals(100 * value, 1)} (${decimals(100 * low, 0)} to ${decimals(100 * high, 0)})`;
}

export function count(value: number, one: string, many = `${one}s`): string {
  return `${value.toLocaleString("en")} ${value === 1 ? one : many}`;
}

/** The format of qk.csv (C's %.9g): nine significant digits, empty where missing. */
export function csvNumber(value: number): string {
  if (Number.isNaN(value)) return "";
  if (value === 0) return "0";
  const [mantissa, exponent] = value.toExponential(8).split("e");
  const power = Number(exponent);
  if (power >= -4 && power < 9) return trimmed(value.toFixed(8 - power));
  return `${trimmed(mantissa)}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}

function trimmed(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}
