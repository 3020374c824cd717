// Panels of facts, and drawers that open to a table.
import { el } from "./dom.js";
import { help } from "./tip.js";

// A panel whose rows are [label, value, note].
export function factPanel(title, text, rows) {
  return el("div", { class: "panel" }, el("h3", null, title, help(text)), el("table", null, el("tbody", null, rows.map(([label, value, note]) => el("tr", null,
    el("th", { scope: "row" }, label), el("td", { class: "n" }, value), el("td", { class: "aside", style: { "white-space": "normal" } }, note))))));
}

// A closed drawer with the result of `draw(rows)`; without rows, a line that says why.
export function drawer(title, rows, reason, draw, open = false) {
  if (!rows?.length) return el("p", { class: "aside" }, `${title}: ${reason ?? "none."}`);
  return el("details", { class: "panel", open }, el("summary", null, `${title} (${rows.length})`), draw(rows));
}
