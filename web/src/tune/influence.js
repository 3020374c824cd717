// How much of what trials differ by goes back to a factor, or to two together.
import { el, missing, section } from "../ui/dom.js";
import { percent } from "../ui/format.js";
import { intervalPlot } from "../ui/intervals.js";

export function influence(report) {
  const text = "Share of the variance between configurations that a factor explains alone, or two explain beyond both alone, with its 95 % interval (functional analysis of variance of the model).";
  const rows = report.influence.map((one) => ({ name: one.factors.join(" × "), estimate: one.share, remark: "", pairs: one.text ? [["what", one.text]] : [] }));
  const back = report.shortest?.told;
  return section("influence", "What matters", text,
    rows.length ? intervalPlot("What matters", "Share of the variance by factor.", rows, { show: percent, from: 0, bars: true }) : missing(`Not known: ${report.influence_reason}.`),
    back && el("p", { class: "summary" }, back));
}
