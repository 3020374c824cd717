// Horizontal bars: behind a number in a table, and as rows of a panel.
import { el, missing } from "./dom.js";
import { interval, percent, time } from "./format.js";
import { facts, help, tipOn } from "./tip.js";

// A number with a bar behind it: length is its share of `most`.
export function bar(amount, most, text) {
  return el("span", { class: "bar" },
    el("span", { class: "fill", style: { width: `${Math.max(0, Math.min(100, ((amount ?? 0) / (most || 1)) * 100))}%` } }),
    el("span", null, text));
}

// CPU time as a labelled bar with its share; the thin line is the interval. `more`: pairs for the tooltip.
export function cpuBar(name, value, share, most, estimate, colour, more = []) {
  const at = (amount) => `${Math.max(0, Math.min(100, (amount / most) * 100))}%`;
  const whisker = estimate?.low !== undefined && estimate?.low !== null && estimate.high !== estimate.low
    ? el("span", { class: "whisker", style: { left: at(estimate.low), width: `calc(${at(estimate.high)} - ${at(estimate.low)})` } }) : null;
  const node = el("div", { class: "hbar", tabindex: "0" },
    el("span", { class: "name" }, el("bdi", null, name)),
    el("span", { class: "track" }, el("span", { class: "fill", style: { width: at(value ?? share), background: colour } }), whisker),
    el("span", { class: "value" }, time(value)),
    el("span", { class: "share" }, percent(share)));
  return tipOn(node, () => facts(name, [["CPU", time(value)], ["share", percent(share)], ["95 % interval", estimate ? interval(estimate.low, estimate.high, "ns") : null], ["samples", estimate?.n], ...more]));
}

// A panel of bars, or the reason why there are none.
export function barPanel(title, text, bars, reason) {
  return el("div", { class: "panel" }, el("h3", null, title, help(text)), bars.length ? el("div", { class: "hbars" }, bars) : missing(reason));
}
