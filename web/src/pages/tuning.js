// A tuning: what was found and confirmed, its trials, what matters, and why the winner is faster.
import { confirmation } from "../tune/confirmation.js";
import { factors } from "../tune/factors.js";
import { fronts } from "../tune/front.js";
import { head } from "../tune/head.js";
import { influence } from "../tune/influence.js";
import { parallel } from "../tune/parallel.js";
import { trace } from "../tune/trace.js";
import { trials } from "../tune/trials.js";
import { before, discarded, standIns, why } from "../tune/words.js";
import { doubts, figures, verdict } from "../ui/summary.js";

const NAVIGATION = [["verdict", "Summary"], ["doubts", "Doubts"], ["before", "Before any trial"], ["confirmation", "Confirmation"], ["why", "Why"], ["trace", "Trace"], ["parallel", "Configurations"], ["influence", "What matters"], ["factors", "Factors"], ["fronts", "Fronts"], ["trials", "Trials"], ["stand-ins", "Stand-ins"], ["discarded", "Discarded"]];

export const tuningPage = {
  navigation: () => NAVIGATION,
  sections(content) {
    const { report, runs } = content;
    const list = trials(content);
    return [
      ["Head", () => head(content)],
      ["Verdict", () => verdict(content.verdict, report.doubts)],
      ["Key figures", () => figures(content.figures)],
      ["Doubts", () => doubts(report.doubts)],
      ["Before any trial", () => before(report)],
      ["Confirmation", () => confirmation(report, runs)],
      ["Why", () => why(report, runs)],
      ["Trace", () => trace(report, list.open)],
      ["Configurations", () => parallel(report, list.open)],
      ["What matters", () => influence(report)],
      ["Factors", () => factors(report, list.open)],
      ["Fronts", () => fronts(report)],
      ["Trials", () => list.node],
      ["Stand-ins", () => standIns(report)],
      ["Discarded", () => discarded(report)],
    ];
  },
  foot: () => "All numbers of this page: pyrometer tune show DIR --json",
};
