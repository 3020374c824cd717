// Numbers for people, as the terminal writes them (`python/pyrometer/core/units.py`);
// `tests/fixtures/units.json` holds both to it. Every function gives "–" for a missing value.

export const NONE = "–";

export const gone = (value) => value === null || value === undefined || (typeof value === "number" && !Number.isFinite(value));

// To so many significant digits, without exponent; thousands are grouped.
export function significant(value, digits = 3) {
  if (gone(value)) return NONE;
  if (value === 0) return "0";
  const exponent = Number(Math.abs(value).toExponential(digits - 1).split("e")[1]);
  return (value < 0 ? "−" : "") + fixed(Math.abs(value), Math.max(0, digits - 1 - exponent));
}

// Half away from zero on the decimal digits, as people round.
function fixed(size, places) {
  const [whole, part] = (size + 1e-9 * 10 ** -places).toFixed(places).split(".");
  return grouped(whole) + (part ? `.${part}` : "");
}

const grouped = (whole) => whole.replace(/\B(?=(\d{3})+$)/g, " ");

const TIMES = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];

// Time in ns; from 100 s on as minutes and hours.
export function time(ns) {
  if (gone(ns)) return NONE;
  if (ns === 0) return "0 s";
  const [sign, size] = [ns < 0 ? "−" : "", Math.abs(ns)];
  if (size / 1e9 >= 99.95) {
    const whole = Math.floor(size / 1e9 + 0.5);
    const two = (value) => String(value).padStart(2, "0");
    if (whole < 3600) return `${sign}${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
    return `${sign}${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} min`;
  }
  const [factor, unit] = TIMES.find(([least]) => size >= least * 0.9995) ?? [1, "ns"];
  return `${sign}${significant(size / factor)} ${unit}`;
}

const SIZES = [[2 ** 50, "PiB"], [2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]];

// Bytes in binary units.
export function bytes(value) {
  if (gone(value)) return NONE;
  const [sign, amount] = [value < 0 ? "−" : "", Math.abs(value)];
  const found = SIZES.find(([factor]) => amount >= factor * 0.9995);
  return sign + (found ? `${significant(amount / found[0])} ${found[1]}` : `${fixed(amount, 0)} B`);
}

// Bytes per second.
export const rate = (value) => (gone(value) ? NONE : `${bytes(value)}/s`);

export function count(value) {
  if (gone(value)) return NONE;
  const whole = Math.round(value);
  return (whole < 0 ? "−" : "") + grouped(String(Math.abs(whole)));
}

// Short counts for narrow columns: 43.2 M.
export function short(value) {
  if (gone(value)) return NONE;
  for (const [limit, unit] of [[1e9, " G"], [1e6, " M"], [1e4, " k"]]) {
    if (Math.abs(value) >= limit) return significant(value / (unit === " k" ? 1e3 : limit)) + unit;
  }
  return count(value);
}

// What is not nothing does not look like it.
export function percent(ratio, signed = false) {
  if (gone(ratio)) return NONE;
  const value = ratio * 100;
  const size = Math.abs(value);
  if (size === 0) return "0 %";
  if (size < 0.005) return value > 0 ? "< 0.01 %" : "> −0.01 %";
  return `${value < 0 ? "−" : signed ? "+" : ""}${size < 9.995 ? fixed(size, 2) : significant(size)} %`;
}

export const signedPercent = (ratio) => percent(ratio, true);

// A value in the unit that its name says.
export function unit(value, name) {
  if (gone(value)) return NONE;
  switch (name) {
    case "ns": return time(value);
    case "bytes": return bytes(value);
    case "bytes/s": return rate(value);
    case "count": return Number.isInteger(value) ? count(value) : significant(value);
    case "ratio": return percent(value);
    case "CPUs": return significant(value);
    default: return `${significant(value)} ${name ?? ""}`.trim();
  }
}

// Low and high of an interval in one unit: "19.1 – 19.8 s".
export function interval(low, high, name) {
  if (gone(low) || gone(high)) return null;
  const [a, b] = [unit(low, name), unit(high, name)];
  const [head, tail] = [a, b].map((text) => text.match(/^([−\d. ]+) (\D+)$/));
  return head && tail && head[2] === tail[2] ? `${head[1]} – ${b}` : `${a} – ${b}`;
}

// Value of a SQL metric by Spark's own type of it.
export function metric(value, type) {
  if (gone(value)) return NONE;
  if (type === "size") return bytes(value);
  if (type === "timing") return time(value * 1e6);
  if (type === "nsTiming") return time(value);
  if (type === "average") return significant(value / 10);
  return count(value);
}

export function date(wallNs) {
  if (gone(wallNs)) return NONE;
  return new Date(wallNs / 1e6).toISOString().slice(0, 19).replace("T", " ") + " UTC";
}

// A call site with its folders left out: "collect at …/scan.py:41".
export function callSite(text) {
  return text?.replace(/(?:\/[^\s/]+){2,}\/(?=[^\s/]+)/g, "…/");
}

// What a stage is called; runs of older versions have Spark's name alone.
export const stageCalled = (stage) => stage.called ?? stage.name;

// The same in full, with Spark's name below where that is another.
export function stageTitle(stage) {
  return [...new Set([stageCalled(stage), stage.name].filter(Boolean))].join("\n");
}

// "shuffle_write" and "stage-tail" as words.
export function words(name) {
  return String(name ?? NONE).replace(/[_-]+/g, " ");
}

// 95 % interval of a share by Wilson, from hits among n samples.
export function wilson(hits, n) {
  if (!n) return [NaN, NaN];
  const z = 1.959964;
  const p = hits / n;
  const denominator = 1 + (z * z) / n;
  const middle = (p + (z * z) / (2 * n)) / denominator;
  const half = (z * Math.sqrt((p * (1 - p)) / n + (z * z) / (4 * n * n))) / denominator;
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}
