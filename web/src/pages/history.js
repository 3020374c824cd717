// Runs of the same treatment over time.
import { head, seriesSection, unreadSection } from "../experiment/history.js";
import { doubts } from "../ui/summary.js";

export const historyPage = {
  navigation: () => [["history", "History"], ["doubts", "Doubts"], ["series", "Series"], ["unread", "Skipped"]],
  sections: (content) => [
    ["History", () => head(content)],
    ["Doubts", () => doubts(content.doubts)],
    ["Series", () => seriesSection(content)],
    ["Skipped", () => unreadSection(content.unread)],
  ],
  foot: () => "All numbers of this page: pyrometer experiment history … --json",
};
