// The frames of a view as a table, and around a chosen one its callers and its callees.
import { el, replace } from "../ui/dom.js";
import { count, percent, unit, wilson } from "../ui/format.js";
import { callees, callers } from "./merge.js";
import { hottest, pattern, rangeOf } from "./frames.js";
import { flameCanvas } from "./canvas.js";
import { table } from "../ui/table.js";

const LISTED = 300;

// `look(view)` gives what canvases need to draw a view (see `flameCanvas`).
export function sandwich(look) {
  let [view, root, chosen, list] = [null, -1, null, []];
  const rows = el("div");
  const filter = el("input", { type: "search", id: "flame-find", placeholder: "Find frames (regex)", "aria-label": "Find frames of the table by regular expression", on: { input: fill } });
  const part = (id, label, upright) => {
    const canvas = flameCanvas({ id, label, tallest: () => 320, look: { fill: () => "", lit: () => null, about: () => ["", []], pick: (i) => pick(canvas, i), moved: (i) => describe(canvas, i), key: (key) => key === "Escape" && close() } });
    canvas.upright = upright;
    return canvas;
  };
  const above = part("flame-callers", "Callers of the chosen frame, which is at the bottom; arrows move, Enter chooses", true);
  const below = part("flame-callees", "Callees of the chosen frame; arrows move, Enter chooses", false);
  const heads = { name: el("b"), status: el("p", { class: "flame-status", "aria-live": "polite", id: "flame-around-status" }) };
  const around = el("div", { class: "flame-around", hidden: true },
    el("div", { class: "controls" }, heads.name, el("span", { class: "grow" }), el("button", { type: "button", id: "flame-around-close", on: { click: close } }, "Close")),
    el("h4", null, "Callers"), above.node, el("h4", null, "Callees"), below.node, heads.status);
  const node = el("div", null, el("div", { class: "controls" }, filter), rows, around);

  // Another view, or another part of it: the chosen frame stays where it still is.
  function show(next, at) {
    [view, root] = [next, at];
    list = hottest(view, root);
    fill();
    if (chosen !== null && list.some(({ frame }) => frame === chosen)) choose(chosen);
    else close(false);
  }

  function fill() {
    if (!view) return;
    // From the leaf up, the table is of all that is shown, whatever box fills the width.
    const part = view.run ? root : -1;
    const whole = (part < 0 ? view.sum : view.total[part]) || 1;
    const wanted = pattern(filter.value);
    const met = wanted ? list.filter(({ name }) => wanted.test(name)) : list;
    // Share and interval are of the same: what is in view.
    const n = view.effectiveOf(part);
    const range = (share) => {
      const [low, high] = wilson(share * n, n);
      return n ? `${percent(low)} – ${percent(high)}` : null;
    };
    const open = (f) => el("button", { type: "button", class: "link", "aria-pressed": String(f.frame === chosen), data: { frame: f.frame }, on: { click: () => choose(f.frame, true) } }, el("bdi", null, f.name));
    const columns = [
      { label: "Frame", value: (f) => f.name, show: open, class: "frame" },
      { label: "Self", value: (f) => f.self, show: (f) => unit(f.self, view.unit), number: true, help: "Spent in the frame itself." },
      { label: "Self %", value: (f) => f.self / whole, show: (f) => percent(f.self / whole), number: true },
      { label: "Total", value: (f) => f.total, show: (f) => unit(f.total, view.unit), number: true, help: "Spent in the frame and its callees; a recursive call counts once." },
      { label: "Total %", value: (f) => f.total / whole, show: (f) => percent(f.total / whole), number: true },
      { label: "95 % of total", value: (f) => f.total / whole, show: (f) => range(f.total / whole), number: true, help: "Wilson interval of the frame's total as a share of what is shown: of the selected threads and time, and of the box that fills the width." },
      { label: "Kind", value: (f) => f.kind },
    ];
    // Of many frames those that lead either column.
    const leading = (name) => [...met].sort((a, b) => b[name] - a[name]).slice(0, LISTED);
    const shown = met.length > LISTED ? [...new Set([...leading("self"), ...leading("total")])] : met;
    replace(rows, el("p", { class: "aside", id: "flame-base" }, view.sum ? `Shares are of the ${unit(whole, view.unit)} ${part < 0 ? "shown" : `in ${view.label(part)}`}; n = ${count(n)}.` : null), table(columns, shown, { first: 15, sort: { column: 1, down: true }, empty: wanted ? "No frame matches." : "No samples." }));
  }

  function choose(frame, move = false) {
    chosen = frame;
    const range = rangeOf(view, root);
    around.hidden = false;
    heads.name.textContent = view.name(frame);
    for (const [canvas, merged] of [[above, callers(view, frame, range)], [below, callees(view, frame, range)]]) {
      Object.assign(canvas.look, look(merged));
      canvas.show(merged);
    }
    heads.status.textContent = `${unit(below.view.sum, view.unit)} in the frame and its callees.`;
    for (const button of rows.querySelectorAll("[data-frame]")) button.setAttribute("aria-pressed", String(Number(button.dataset.frame) === chosen));
    if (move) around.scrollIntoView({ block: "nearest" });
  }

  function pick(canvas, i) {
    const frame = canvas.view.frame(i);
    if (frame !== chosen) choose(frame);
    else close();
  }

  function describe(canvas, i) {
    const [title, pairs] = canvas.look.about(i);
    heads.status.textContent = [title, ...pairs.filter((pair) => pair?.[1]).map(([name, value]) => `${name} ${value}`)].join(" · ");
  }

  function close(back = true) {
    const button = rows.querySelector(`[data-frame="${chosen}"]`);
    chosen = null;
    around.hidden = true;
    for (const one of rows.querySelectorAll("[data-frame]")) one.setAttribute("aria-pressed", "false");
    if (back) (button ?? filter).focus();
    return true;
  }

  // Arrows go from row to row; Enter is the button's own.
  rows.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const buttons = [...rows.querySelectorAll("[data-frame]")];
    const at = buttons.indexOf(document.activeElement);
    if (event.key === "Escape" && chosen !== null) close();
    else if (by && at >= 0) buttons[at + by]?.focus();
    else return;
    event.preventDefault();
  });

  return { node, show, redraw: () => [above, below].forEach((canvas) => !around.hidden && canvas.draw()) };
}
