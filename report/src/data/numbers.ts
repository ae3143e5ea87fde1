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

/** Decimal numbers as the table has them: digits divided by an exact power of ten rounds as parsing the text does. */
export function unpack(packed: PackedNumbers): Float64Array {
  const raw = bytes(packed.digits);
  const digits = new DataView(raw.buffer);
  const places = new Int8Array(bytes(packed.places).buffer);
  const out = new Float64Array(places.length);
  for (let i = 0; i < out.length; ++i) {
    const mantissa = digits.getInt32(4 * i, true);
    const place = places[i];
    if (mantissa <= NO_ROW) out[i] = NaN;
    else out[i] = place >= 0 ? mantissa / POWERS[place] : mantissa * POWERS[-place];
  }
  return out;
}

/** Of either kind. */
export function unpackAny(packed: PackedNumbers | PackedFloats): Float64Array | Float32Array {
  if ("digits" in packed) return unpack(packed);
  const half = "bfloat16" in packed;
  const raw = bytes("bfloat16" in packed ? packed.bfloat16 : packed.float32);
  const out = new Float32Array(raw.length / (half ? 2 : 4));
  const from = new DataView(raw.buffer);
  const bits = new DataView(new ArrayBuffer(4));
  for (let i = 0; i < out.length; ++i) {
    bits.setUint32(0, half ? from.getUint16(2 * i, true) << 16 : from.getUint32(4 * i, true));
    out[i] = bits.getFloat32(0);
  }
  return out;
}

/** Which entries stand for rows that are there. */
export function present(packed: PackedNumbers): Uint8Array {
  const raw = bytes(packed.digits);
  const digits = new DataView(raw.buffer);
  const out = new Uint8Array(raw.length / 4);
  for (let i = 0; i < out.length; ++i) out[i] = digits.getInt32(4 * i, true) === NO_ROW ? 0 : 1;
  return out;
}

export const SPECIAL = { MISSING, NO_ROW };
