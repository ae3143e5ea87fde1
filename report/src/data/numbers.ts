import type { PackedFloats, PackedNumbers } from "./blob";

/** A number that the table does not have. */
const MISSING = -(2 ** 31);
/** A row that the table does not have. */
const NO_ROW = -(2 ** 31) + 1;

function bytes(base64: string): Uint8Array {
  const text = atob(base64);
  const out = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) out[i] = text.charCodeAt(i);
  return out;
}

const POWERS = Array.from({ length: 309 }, (_, i) => Number(`1e${i}`));

/** Decimal numbers exactly as in the table: digits divided by an exact power of ten round like parsing the text. */
export function unpack(packed: PackedNumbers): Float64Array {
  const raw = bytes(packed.digits);
  const digits = new DataView(raw.buffer);
  const decimals = new Int8Array(bytes(packed.places).buffer);
  const out = new Float64Array(decimals.length);
  for (let i = 0; i < out.length; ++i) {
    const mantissa = digits.getInt32(4 * i, true);
    const decimal = decimals[i];
    if (mantissa <= NO_ROW) out[i] = NaN;
    else out[i] = decimal >= 0 ? mantissa / POWERS[decimal] : mantissa * POWERS[-decimal];
  }
  return out;
}

/** Unpacks either kind. */
export function unpackAny(packed: PackedNumbers | PackedFloats): Float64Array | Float32Array {
  return "digits" in packed ? unpack(packed) : unpackFloats(packed);
}

/** The numbers `from` … `to` - 1 of a list of floats; only these are decoded. */
export function unpackFloats(packed: PackedFloats, from = 0, to = Infinity): Float32Array {
  const [kind, base64] = Object.entries(packed)[0] as [string, string];
  const width = kind === "float32" ? 4 : kind === "float24" ? 3 : 2;
  const group = Math.floor((from * width) / 3); // three bytes are four letters
  const raw = bytes(base64.slice(4 * group, 4 * Math.ceil((to * width) / 3)));
  const skipped = from * width - 3 * group;
  const out = new Float32Array(Math.min(to - from, Math.floor((raw.length - skipped) / width)));
  const one = new Uint8Array(4);
  const view = new DataView(one.buffer);
  for (let i = 0; i < out.length; ++i) {
    one.set(raw.subarray(skipped + width * i, skipped + width * (i + 1)), 4 - width);
    out[i] = view.getFloat32(0, true);
  }
  return out;
}

/** Which entries belong to existing rows. */
export function present(packed: PackedNumbers): Uint8Array {
  const raw = bytes(packed.digits);
  const digits = new DataView(raw.buffer);
  const out = new Uint8Array(raw.length / 4);
  for (let i = 0; i < out.length; ++i) out[i] = digits.getInt32(4 * i, true) === NO_ROW ? 0 : 1;
  return out;
}

export const SPECIAL = { MISSING, NO_ROW };
