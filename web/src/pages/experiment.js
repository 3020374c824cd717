// An experiment: its treatments compared, its trials, cost and plan.
import { comparisons } from "../experiment/comparisons.js";
import { effectsSection } from "../experiment/factors.js";
import { head } from "../experiment/head.js";
import { matrixSection } from "../experiment/matrix.js";
import { orderSection } from "../experiment/order.js";
import { plan } from "../experiment/plan.js";
import { cost, trialsSection } from "../experiment/trials.js";
import { layoutSection } from "../layouts/layouts.js";
import { curveSection } from "../scaling/curve.js";
import { doubts, figures, verdict } from "../ui/summary.js";

const NAVIGATION = [["verdict", "Summary"], ["doubts", "Doubts"], ["matrix", "Matrix"], ["comparisons", "Comparisons"], ["curve", "Scaling"], ["layout", "Layouts"], ["factors", "Factors"], ["order", "Run order"], ["trials", "Trials"], ["cost", "Cost"], ["plan", "Plan"]];

export const experimentPage = {
  navigation: (content) => NAVIGATION.filter(([id]) => !["curve", "layout"].includes(id) || content[id]),
  sections(content) {
    const { report, plots } = content;
    const trials = trialsSection(content);
    return [
      ["Head", () => head(content)],
      ["Verdict", () => verdict(content.verdict, report.doubts)],
      ["Key figures", () => figures(content.figures)],
      ["Doubts", () => doubts(report.doubts)],
      ["Matrix", () => matrixSection(plots.matrix, trials.choose)],
      ["Comparisons", () => comparisons(report, trials.choose)],
      ["Scaling", () => curveSection(content.curve, content.curve_note)],
      ["Layouts", () => layoutSection(content.layout, content.layout_note)],
      ["Factors", () => effectsSection(report.factors, plots.interactions, plots.matrix.factors)],
      ["Run order", () => orderSection(plots.order, report, trials.open)],
      ["Trials", () => trials.node],
      ["Cost", () => cost(plots.cost, report)],
      ["Plan", () => plan(content)],
    ];
  },
  foot: () => "All numbers of this page: pyrometer experiment show DIR --json; the trials alone: --csv",
};
