// Two profiles compared frame by frame.
import { differenceGraph } from "../flame/difference/graph.js";
import { differenceHead, frameChanges, operatorChanges } from "../flame/difference/tables.js";
import { doubts } from "../ui/summary.js";

export const differencePage = {
  navigation: () => [["difference", "Summary"], ["doubts", "Doubts"], ["flame", "Flame graph"], ["operators", "Operators"], ["frames", "Frames"]],
  sections: (content, columns) => [
    ["Head", () => differenceHead(content)],
    ["Doubts", () => doubts(content.doubts)],
    ["Flame graph", () => differenceGraph(content, columns.flame)],
    ["Operators", () => operatorChanges(content)],
    ["Frames", () => frameChanges(content)],
  ],
  foot: () => "All numbers of this page: pyrometer flame RUN… --against RUN… --json",
};
