// What this report cannot show, in one line; the reasons on demand.
import { el } from "../ui/dom.js";

export function absentLine(absent) {
  const items = absent?.items ?? [];
  if (!items.length) return null;
  const lead = absent.event_log_only ? "Not in an event log: " : "Not measured in this run: ";
  const rest = absent.event_log_only ? ["; needs ", el("code", null, "pyrometer run"), "."] : ["."];
  return el("details", { class: "absent", id: "absent" },
    el("summary", null, lead, el("bdi", null, items.map((item) => item.label).join("; ")), rest, el("span", { class: "link" }, " Why?")),
    el("dl", { class: "pairs" }, items.map((item) => [el("dt", null, item.label), el("dd", null, el("bdi", null, item.reason))])));
}

// Whether a section has something to show.
export const present = (content, id) => !content.absent?.sections?.includes(id);
