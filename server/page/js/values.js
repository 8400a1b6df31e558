// How values look: every digit, NULL told from 'NULL', and types as classes.
import { Num } from "./api.js";

const NUMBERS = /^(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|DECIMAL|DOUBLE|FLOAT|REAL|NUMERIC)/;
const INTEGERS = /^U?((TINY|SMALL|BIG|HUGE)INT|INTEGER)$/;
const MOMENTS = /^(DATE|TIMESTAMP)/;

const isNested = (type) => type.endsWith("]") || /^(STRUCT|MAP|UNION)/.test(type);

/** What a column can be used for: `number`, `time`, `truth`, `text` or `nested`. */
export function kindOf(type) {
  if (isNested(type)) return "nested";
  if (NUMBERS.test(type)) return "number";
  if (MOMENTS.test(type)) return "time";
  return type === "BOOLEAN" ? "truth" : "text";
}

export const isInteger = (type) => INTEGERS.test(type);

/** A value as the engine's own text has it. */
export function textOf(value) {
  if (value === null || value === undefined) return "NULL";
  if (value instanceof Num) return value.text;
  if (Array.isArray(value)) return `[${value.map(textOf).join(", ")}]`;
  if (value instanceof Map) return `{${[...value].map(([key, item]) => `'${key}': ${textOf(item)}`).join(", ")}}`;
  return String(value);
}

/** A value over several lines. */
export function prettyOf(value, indent = "") {
  const deeper = `${indent}  `;
  if (Array.isArray(value) && value.length) return `[\n${value.map((item) => deeper + prettyOf(item, deeper)).join(",\n")}\n${indent}]`;
  if (value instanceof Map && value.size) return `{\n${[...value].map(([key, item]) => `${deeper}${JSON.stringify(key)}: ${prettyOf(item, deeper)}`).join(",\n")}\n${indent}}`;
  return typeof value === "string" && indent ? JSON.stringify(value) : textOf(value);
}

/** For a cell: one line, and not more than can be seen. */
export function shownOf(value) {
  const text = textOf(value);
  const cut = text.length > 400 ? `${text.slice(0, 400)}…` : text;
  return cut.replace(/\r\n|[\n\r]/g, "⏎").replaceAll("\t", "⇥");
}

/** A field of tab-separated text, as spreadsheets take it. NULL is nothing. */
export function tsvOf(value) {
  if (value === null) return "";
  const text = textOf(value);
  return /[\t\n\r"]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Compares two numbers by their digits: -1, 0 or 1. */
function compareNumbers(a, b) {
  const x = Number(a), y = Number(b);
  if (x !== y || !/^-?[0-9.]+$/.test(a) || !/^-?[0-9.]+$/.test(b)) {
    if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y));
    return x < y ? -1 : x > y ? 1 : 0;
  }
  // The doubles are equal: as integers of the same scale, which is exact.
  const scale = Math.max(...[a, b].map((text) => text.split(".")[1]?.length ?? 0));
  const whole = (text) => { const [before, after = ""] = text.split("."); return BigInt(before + after.padEnd(scale, "0")); };
  const [p, q] = [whole(a), whole(b)];
  return p < q ? -1 : p > q ? 1 : 0;
}

/** The order of a column; NULL is last whichever way. */
export function comparator(type, isDescending) {
  const isNumber = kindOf(type) === "number";
  const sign = isDescending ? -1 : 1;
  return (a, b) => {
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    const [x, y] = [textOf(a), textOf(b)];
    return sign * (isNumber ? compareNumbers(x.replace(/^inf$/, "Infinity").replace(/^-inf$/, "-Infinity"), y.replace(/^inf$/, "Infinity").replace(/^-inf$/, "-Infinity")) : x < y ? -1 : x > y ? 1 : 0);
  };
}
