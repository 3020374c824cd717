// A co-run: slowdowns, advice, throughput, contention, and the trials behind them.
import { advice, combined, contention, SLOWDOWNS, times } from "../corun/sections.js";
import { head } from "../experiment/head.js";
import { matrixSection } from "../experiment/matrix.js";
import { orderSection } from "../experiment/order.js";
import { plan } from "../experiment/plan.js";
import { cost, trialsSection } from "../experiment/trials.js";
import { doubts, figures, verdict } from "../ui/summary.js";

export const corunPage = {
  navigation: () => [["verdict", "Summary"], ["doubts", "Doubts"], ["matrix", "Slowdowns"], ["advice", "Advice"], ["whole", "Throughput"], ["losses", "Contention"], ["times", "Times"], ["order", "Run order"], ["trials", "Trials"], ["cost", "Cost"], ["plan", "Plan"]],
  sections(content) {
    const { report, plots } = content;
    const trials = trialsSection(content);
    return [
      ["Head", () => head(content)],
      ["Verdict", () => verdict(content.verdict, report.doubts)],
      ["Key figures", () => figures(content.figures)],
      ["Doubts", () => doubts(report.doubts)],
      ["Slowdowns", () => matrixSection(plots.matrix, trials.choose, SLOWDOWNS)],
      ["Advice", () => advice(report.advice)],
      ["Throughput", () => combined(report.parties)],
      ["Contention", () => contention(plots.matrix.cells, trials.choose)],
      ["Times", () => times(report.treatments, trials.choose)],
      ["Run order", () => orderSection(plots.order, report, trials.open)],
      ["Trials", () => trials.node],
      ["Cost", () => cost(plots.cost, report)],
      ["Plan", () => plan(content)],
    ];
  },
  foot: () => "All numbers of this page: pyrometer corun DIR --json",
};
