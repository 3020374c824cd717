// Values of an objective, names of configurations, and where a level lies within its factor's range.
import { gone, unit } from "../ui/format.js";
import { clock, linear, steps } from "../ui/plot.js";

const unitOf = (report) => ({ memory: "bytes", cost: report.currency || "" })[report.objective] ?? "ns";

// A value of the objective for people.
export const shown = (report, value) => unit(value, unitOf(report));

// Round values of the objective for an axis.
export const ticks = (report, low, high, wanted = 5) => steps(low, high, wanted, unitOf(report) === "ns" ? clock : undefined);

export const called = (configuration) => Object.keys(configuration).sort().map((name) => `${name}=${configuration[name]}`).join(", ") || "baseline";

// The least that tells factors apart: "spark.sql.shuffle.partitions" is long for an axis.
export const brief = (factor) => factor.replace(/^spark\.sql\./, "").replace(/^spark\./, "");

const UNITS = { "": 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 };

// A level as a number where it is one, sizes among them; else null.
export function number(level) {
  const match = /^(-?[0-9]+(?:\.[0-9]+)?)([kmgt]?)b?$/i.exec(String(level));
  return match ? Number(match[1]) * UNITS[match[2].toLowerCase()] : null;
}

// Where levels of a knob lie between two positions: {at(level), ticks: [[text, position]]}.
// What is not set lies at its default, if that is known.
export function scale(knob, levels, from, to) {
  const seen = [...new Set(levels.filter((level) => level !== undefined).map(String))];
  if (knob.kind === "choice") {
    const known = [...new Set([...knob.levels, ...seen])];
    const place = linear(0, Math.max(1, known.length - 1), from, to);
    return { at: (level) => place(Math.max(0, known.indexOf(level ?? knob.default ?? known[0]))), ticks: known.map((one, index) => [one, place(index)]) };
  }
  const numbers = [...seen, knob.default].map(number).filter((one) => !gone(one) && one > (knob.log ? 0 : -Infinity));
  const [low, high] = [Math.min(knob.low ?? Infinity, ...numbers), Math.max(knob.high ?? -Infinity, ...numbers)];
  const log = knob.log && low > 0;
  // Where nobody knows what holds by default, and for levels that are no number, a place of their own.
  const apart = levels.some((level) => gone(number(level ?? knob.default ?? "")) || (log && number(level ?? knob.default) <= 0));
  const first = apart ? from + (to - from) * 0.15 : from;
  const place = log ? linear(Math.log(low), Math.log(high), first, to) : linear(low, high, first, to);
  const at = (level) => {
    const value = number(level ?? knob.default ?? "");
    if (gone(value) || (log && value <= 0)) return from;
    return place(log ? Math.log(Math.min(high, value)) : Math.min(high, Math.max(low, value)));
  };
  const ends = [low, high].map((end) => [tick(knob, end), place(log ? Math.log(end) : end)]);
  const other = [...new Set(levels.filter((level) => at(level) === from).map((level) => level ?? knob.default ?? "not set"))];
  return { at, ticks: apart ? [[other.join(", "), from], ...ends] : ends };
}

const tick = (knob, value) => (knob.kind === "size" ? unit(value, "bytes") : String(Number(value.toPrecision(4))));
