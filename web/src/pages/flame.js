// The flame graph of a run as a page of its own.
import { flameSection } from "../flame/section.js";
import { head } from "../run/head.js";

export const flamePage = {
  navigation: () => [],
  sections: (content, columns) => [
    ["Head", () => head(content)],
    ["Flame graph", () => flameSection(content, columns.flame)],
  ],
  foot: (content) => `Pyrometer ${content.manifest?.pyrometer_version ?? ""} · the hottest frames as data: pyrometer flame RUN --json`,
};
