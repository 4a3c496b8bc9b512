"use strict";
// What compact.py leaves out of the data. Texts are made of values and units as roofline/text/units.py does it.

const PREFIXES = { P: 1e15, T: 1e12, G: 1e9, M: 1e6, k: 1e3, "": 1, m: 1e-3, µ: 1e-6, n: 1e-9 };
const OFF_HALF = 1 + 1e-12;

function significant(value, digits) {
  const exponent = Number(value.toExponential(digits - 1).split("e")[1]);
  return value === 0 ? "0" : value.toFixed(Math.max(0, digits - 1 - exponent));
}

function textOf(exact, unit) {
  if (exact === null) return "-";
  const value = exact * OFF_HALF;
  if (unit === "1") return significant(100 * value, 2);
  if (value === 0) return `0 ${unit}`;
  const rounded = Number(value.toExponential(2));
  const [prefix, factor] = Object.entries(PREFIXES).find(([, least]) => Math.abs(rounded) >= least) ?? ["n", 1e-9];
  return `${significant(rounded / factor, 3)} ${prefix}${unit}`;
}

// Add it to tables and readings of rounds, at any depth.
function expand(one) {
  if (one === null || typeof one !== "object") return;
  if (Array.isArray(one)) {
    if (typeof one[0] === "object") one.forEach(expand);
    return;
  }
  Object.values(one).forEach(expand);
  const { columns, texts, values, unit, shown, middle, digit } = one;
  if (texts) {
    const count = Math.max(0, ...Object.values({ ...values, ...texts }).map((column) => column.length));
    one.shown = Array.from({ length: count }, (_, row) => columns.map(
      (column, index) => texts[index]?.[row] ?? textOf(values[index][row], column.unit),
    ));
  } else if (shown && unit) {
    if (digit !== undefined) one.values = values.map((whole) => (whole === null ? null : Number(`${middle + whole}e${digit}`)));
    one.shown = one.values.map((value, place) => shown[place] ?? textOf(value, unit));
  }
}
