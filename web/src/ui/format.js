// Numbers for people. Every function gives "–" for a missing value.

export const NONE = "–";

const minus = (text) => text.replace("-", "−");
export const gone = (value) => value === null || value === undefined || Number.isNaN(value);

// At most `digits` significant digits, with thousands separated.
export function significant(value, digits = 3) {
  if (gone(value)) return NONE;
  const size = Math.abs(Number(value.toPrecision(digits)));
  if (size >= 10 ** (digits - 1)) return minus(Math.round(value).toLocaleString("en-US"));
  if (size === 0) return "0";
  const places = Math.min(6, digits - 1 - Math.floor(Math.log10(size)));
  return minus(value.toFixed(Math.max(0, places)));
}

// Time in ns; long times as minutes and hours.
export function time(ns) {
  if (gone(ns)) return NONE;
  const size = Math.abs(ns);
  if (size >= 3600e9) return `${Math.floor(ns / 3600e9)} h ${String(Math.floor((ns % 3600e9) / 60e9)).padStart(2, "0")} min`;
  if (size >= 600e9) return `${Math.floor(ns / 60e9)} min ${String(Math.floor((ns % 60e9) / 1e9)).padStart(2, "0")} s`;
  if (size >= 1e9) return `${significant(ns / 1e9)} s`;
  if (size >= 1e6) return `${significant(ns / 1e6)} ms`;
  if (size >= 1e3) return `${significant(ns / 1e3)} µs`;
  return `${minus(String(Math.round(ns)))} ns`;
}

export function bytes(value) {
  if (gone(value)) return NONE;
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let power = 0;
  let scaled = value;
  while (Math.abs(scaled) >= 999.5 && power < units.length - 1) {
    scaled /= 1000;
    power += 1;
  }
  return `${power ? significant(scaled) : Math.round(scaled)} ${units[power]}`;
}

export function count(value) {
  return gone(value) ? NONE : Math.round(value).toLocaleString("en-US");
}

// Short counts for narrow columns: 43.2 M.
export function short(value) {
  if (gone(value)) return NONE;
  for (const [limit, unit] of [[1e9, " G"], [1e6, " M"], [1e4, " k"]]) {
    if (Math.abs(value) >= limit) return significant(value / (unit === " k" ? 1e3 : limit)) + unit;
  }
  return count(value);
}

export function percent(ratio) {
  if (gone(ratio)) return NONE;
  const value = ratio * 100;
  const size = Math.abs(value);
  if (size > 0 && size < 0.01) return value > 0 ? "< 0.01 %" : "> −0.01 %";
  return `${minus(size >= 99.95 || size === 0 ? String(Math.round(value)) : size >= 10 ? value.toFixed(1) : value.toFixed(2))} %`;
}

export function signedPercent(ratio) {
  if (gone(ratio)) return NONE;
  return (ratio > 0 ? "+" : "") + percent(ratio);
}

// A value in the unit that its name says.
export function unit(value, name) {
  if (gone(value)) return NONE;
  switch (name) {
    case "ns": return time(value);
    case "bytes": return bytes(value);
    case "bytes/s": return `${bytes(value)}/s`;
    case "count": return Number.isInteger(value) ? count(value) : significant(value);
    case "ratio": return percent(value);
    case "MB/s": return `${significant(value)} MB/s`;
    case "CPUs": return `${value.toFixed(2)}`;
    default: return `${significant(value)} ${name ?? ""}`.trim();
  }
}

// Low and high of an interval in one unit: "19.1 – 19.8 s".
export function interval(low, high, name) {
  if (gone(low) || gone(high)) return null;
  const [a, b] = [unit(low, name), unit(high, name)];
  const tail = (text) => text.slice(text.indexOf(" "));
  return tail(a) === tail(b) && a.includes(" ") ? `${a.slice(0, a.indexOf(" "))} – ${b}` : `${a} – ${b}`;
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
