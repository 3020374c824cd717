// The top of every page: the verdict, key figures, and doubts.
import { disputeMark } from "./disputed.js";
import { el, section } from "./dom.js";
import { count, interval, unit } from "./format.js";
import { help } from "./tip.js";

const SEVERITIES = ["error", "warning", "info"];

// The verdict in one sentence, with a badge that leads to the doubts.
export function verdict(text, doubts, next = null) {
  const worst = SEVERITIES.find((level) => doubts.some((doubt) => doubt.severity === level));
  return el("div", { class: "verdict", id: "verdict" },
    el("div", null, el("p", null, el("bdi", null, text)), next && el("p", { class: "next" }, "Next: ", el("bdi", null, next))),
    doubts.length > 0
      ? el("a", { class: `badge ${worst}`, href: "#doubts" }, `${doubts.length} doubt${doubts.length > 1 ? "s" : ""}`)
      : el("span", { class: "badge none" }, "no doubts"));
}

// Key figures as tiles: {label, value, unit, low, high, n, note, help, reason, disputed}.
export function figures(list) {
  return el("div", { class: "figures", id: "figures" }, (list ?? []).map((figure) => {
    const range = interval(figure.low, figure.high, figure.unit);
    return el("div", { class: figure.reason ? "figure gone" : "figure" },
      el("h3", null, figure.label, help(figure.help)),
      el("p", { class: "big" }, unit(figure.value, figure.unit)),
      figure.disputed && el("p", { class: "small" }, disputeMark(figure.disputed.better, figure.disputed.better_source, figure.disputed.why, figure.unit)),
      figure.reason
        ? el("p", { class: "small" }, figure.reason)
        : el("p", { class: "small" }, [range && `${range} (95 %)`, figure.n !== null && figure.n !== undefined && `n = ${count(figure.n)}`, figure.note].filter(Boolean).join(" · ")));
  }));
}

// All doubts, the most severe first, each with its remedy.
export function doubts(list) {
  const rank = (doubt) => (SEVERITIES.includes(doubt.severity) ? SEVERITIES.indexOf(doubt.severity) : SEVERITIES.length);
  const ordered = [...(list ?? [])].sort((a, b) => rank(a) - rank(b));
  return section("doubts", "Doubts", "Reasons not to trust a number on this page, and what to do about each.",
    ordered.length === 0
      ? el("p", { class: "missing" }, "None.")
      : el("ul", { class: "doubts" }, ordered.map((doubt) => el("li", { class: doubt.severity },
        el("p", null, el("span", { class: "severity" }, doubt.severity), " ", el("bdi", null, doubt.message)),
        doubt.remedy && el("p", { class: "remedy" }, "→ ", doubt.remedy),
        el("code", null, doubt.code)))));
}
