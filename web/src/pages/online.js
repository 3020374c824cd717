// A recurring job: its nights, what was decided after them, and how much of the promise is spent.
import { decisions } from "../tune/decisions.js";
import { nights } from "../tune/nights.js";
import { head, next } from "../tune/recurring.js";
import { risk } from "../tune/risk.js";
import { scheduled } from "../tune/scheduled.js";
import { doubts, figures, verdict } from "../ui/summary.js";

const NAVIGATION = [["verdict", "Summary"], ["doubts", "Doubts"], ["nights", "Nights"], ["risk", "Risk"], ["decisions", "Decisions"], ["runs", "Runs"]];

export const onlinePage = {
  navigation: () => NAVIGATION,
  sections(content) {
    const { report } = content;
    const list = scheduled(content);
    return [
      ["Head", () => head(content)],
      ["Verdict", () => verdict(content.verdict, report.doubts, next(report))],
      ["Key figures", () => figures(content.figures)],
      ["Doubts", () => doubts(report.doubts)],
      ["Nights", () => nights(report, list.open)],
      ["Risk", () => risk(report)],
      ["Decisions", () => decisions(report)],
      ["Runs", () => list.node],
    ];
  },
  foot: () => "All numbers of this page: pyrometer tune show DIR --json",
};
