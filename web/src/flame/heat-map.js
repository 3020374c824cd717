// The heat map of samples: time from left to right, colour is weight; rows are parts of a second, or
// threads, executors, roles. Drag over it to select a time, which flame graph and timeline share.
import { el } from "../ui/dom.js";
import { count, time, unit } from "../ui/format.js";
import { coloured, GUTTER, paintHeat, placeOf, scaleLegend } from "../ui/heat-cells.js";
import { onTheme } from "../ui/theme.js";
import { clock } from "../ui/time-axis.js";
import { labelOf, rangesFromText, rangesToText } from "../ui/time-selection.js";
import { facts, help, hideTip, showTip } from "../ui/tip.js";
import { DIMENSIONS } from "./controls.js";
import { makeGrid, WITHIN } from "./heat-grid.js";
import { loadTimes, rowsOf, weightsIn } from "./times.js";

const HELP = "Columns are time, colour is how much was spent in a cell. Drag to select a time range, Ctrl-drag to add another; dragging over some of the rows restricts the selection to these rows. Keys: arrows move, Shift-arrows select, Enter selects the cell, Escape clears.";

const ROWS = ["thread", "role", "executor", "process", "stage", "what", "state", "operator"];

// Selects a part of the time for a flame graph (see `flameGraph`); `marks` are iterations
// [{start_ms, end_ms, iteration, warmup}].
export function heatMap(model, columns, selection, marks = []) {
  const { meta } = model;
  const times = loadTimes(meta, columns);
  if (!times) return { element: el("p", { class: "note" }, `No heat map, and no selection of time: ${meta.times?.reason ?? "this page has no times of samples."}`), part: () => ({}), linked: () => ({}), restore: () => {}, onChange: () => {} };

  const state = { by: WITHIN, query: null, taken: null, grid: null, cursor: null, anchor: null, drag: null };
  const canvas = el("canvas", { tabindex: "0", role: "application", id: "heat-canvas", "aria-label": `Heat map of samples. ${HELP}` });
  const status = el("p", { class: "flame-status", "aria-live": "polite", id: "heat-status" });
  const legend = el("div", { class: "legend", id: "heat-legend" });
  const clear = el("button", { type: "button", id: "heat-clear", on: { click: selection.clear } }, "Clear selection");
  const dimensions = ROWS.filter((name) => (meta.dimensions[name]?.length ?? 0) > 1);
  // Closed at first, as the graph leads; a selection is always shown below.
  const drawer = el("details", { id: "heat" });
  const by = el("select", { "data-name": "heat-rows", on: { change: () => { Object.assign(state, { by: by.value, cursor: null }); measure(); describe(); draw(); } } },
    el("option", { value: WITHIN }, "parts of a second"), dimensions.map((name) => el("option", { value: name }, DIMENSIONS[name].toLowerCase())));
  const image = document.createElement("canvas");
  const unitName = () => (meta.events[state.query.event] ?? meta.events.cpu).unit;

  function measure() {
    if (!state.query || !drawer.open) return;
    state.grid = makeGrid(model, times, state.taken, state.by, (canvas.clientWidth || 1200) - GUTTER, state.query.weight === "critical");
    colour();
  }

  function colour() {
    if (!state.grid) return;
    coloured(state.grid, image);
    scaleLegend(legend, state.grid, unitName());
  }

  let asked = false;
  function draw() {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      paint();
    });
  }

  const focused = () => document.activeElement === canvas;

  function paint() {
    if (!state.grid || !canvas.clientWidth) return;
    const { drag } = state;
    const ranges = drag ? [...(drag.more ? selection.ranges : []), state.grid.range(drag.from, drag.to)] : selection.ranges;
    paintHeat(canvas, { grid: state.grid, image, marks, ranges, cursor: focused() ? state.cursor : null });
  }

  // --- descriptions ---

  const span = ([from, to]) => `${clock(from)} – ${clock(to)}`;

  function about(cell) {
    const { grid } = state;
    return [span(grid.range(cell, cell)), [["row", grid.name(cell.row)], ["weight", unit(grid.at(cell.column, cell.row), unitName())]]];
  }

  // Weight and samples of the selected time in chosen facts.
  function sums(chosen) {
    const found = weights();
    const weight = state.query.weight === "critical" ? found.critical : found.weight;
    let [sum, n] = [0, 0];
    for (let f = 0; f < chosen.length; f += 1) if (chosen[f] === 0 && weight[f] > 0) [sum, n] = [sum + weight[f], n + found.n[f]];
    return [sum, n];
  }

  function describe() {
    clear.disabled = selection.empty;
    told.hidden = selection.empty && !drawer.open;
    if (!state.query) return;
    status.textContent = state.cursor && focused() && !state.anchor ? aboutText() : selection.empty ? allText() : selectedText();
  }

  function aboutText() {
    const [title, pairs] = about(state.cursor);
    return [title, ...pairs.filter(([, value]) => value).map(([name, value]) => `${name} ${value}`)].join(" · ");
  }

  const allText = () => `The whole run is selected.${times.unplaced ? ` ${count(times.unplaced)} samples have no time stamp and are left out of every selection.` : ""}`;

  // If the filters leave nothing of the selection, says what they leave out.
  function selectedText() {
    const { ranges } = selection;
    const own = selection.filters(meta.dimensions);
    const [sum, n] = sums(selection.focus ? rowsOf(model, { ...state.query, filters: { ...state.query.filters, ...own } }) : state.taken);
    const rest = sum ? 0 : sums(rowsOf(model, { ...state.query, filters: own }))[0];
    const length = ranges.reduce((whole, [from, to]) => whole + to - from, 0);
    const where = ranges.length > 3 ? `${count(ranges.length)} ranges` : ranges.map(span).join(", ");
    const what = labelOf(selection.restriction(meta.dimensions));
    return `Selected ${where}${what && ` · ${what}`} (${time(length * 1e6)}): ${unit(sum, unitName())} in ${count(n)} samples${rest ? `; ${unit(rest, unitName())} without the filters above` : ""}. Exact to ${time(times.bucketMs * 1e6)}.`;
  }

  let known = { ranges: null, found: null };
  function weights() {
    if (selection.empty) return null;
    if (known.ranges !== selection.ranges) known = { ranges: selection.ranges, found: weightsIn(times, selection.ranges) };
    return known.found;
  }

  // --- pointer and keys ---

  function cellAt(event) {
    const { x, y, tall, wide } = placeOf(state.grid, canvas.clientWidth);
    const within = (value, most) => Math.min(most - 1, Math.max(0, Math.floor(value)));
    const line = within((event.offsetY - y) / tall, state.grid.rows);
    return { column: within((event.offsetX - x) / wide, state.grid.columns), row: state.grid.line(line), inside: event.offsetX >= x };
  }

  function select(from, to, more) {
    const range = state.grid.range(from, to);
    if (more) selection.add(range);
    else selection.set([range], state.grid.focus(from, to));
  }

  // The cells of a drawer that has just been opened come with its event, a moment later.
  canvas.addEventListener("pointerdown", (event) => {
    if (!state.grid) return;
    const cell = cellAt(event);
    if (!cell.inside || event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    Object.assign(state, { cursor: null, drag: { from: cell, to: cell, more: event.ctrlKey || event.metaKey } });
    draw();
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!state.grid) return;
    const cell = cellAt(event);
    if (state.drag) {
      state.drag.to = cell;
      showTip(event.clientX, event.clientY, span(state.grid.range(state.drag.from, cell)));
      draw();
    } else if (cell.inside) showTip(event.clientX, event.clientY, ...facts(...about(cell)));
    else hideTip();
  });
  canvas.addEventListener("pointerup", () => {
    const { drag } = state;
    state.drag = null;
    if (drag) select(drag.from, drag.to, drag.more);
  });
  canvas.addEventListener("pointercancel", () => { state.drag = null; draw(); });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("focus", draw);
  canvas.addEventListener("blur", () => { state.anchor = null; describe(); draw(); });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (event.key === "Escape") selection.clear();
    else if (event.key === "Enter" && state.cursor) select(state.cursor, state.cursor, event.ctrlKey || event.metaKey);
    else if (step && state.grid) move(step, event.shiftKey);
    else return;
    event.preventDefault();
  });

  function move([right, down], selecting) {
    const { grid } = state;
    const old = state.cursor ?? { column: 0, row: 0 };
    const within = (value, most) => Math.min(most - 1, Math.max(0, value));
    state.anchor = selecting ? (state.anchor ?? old) : null;
    state.cursor = { column: within(old.column + right, grid.columns), row: within(old.row + (grid.within ? -down : down), grid.rows) };
    if (state.anchor) select(state.anchor, state.cursor, false);
    describe();
    draw();
  }

  let width = 0;
  new ResizeObserver(() => {
    if (canvas.clientWidth === width) return;
    width = canvas.clientWidth;
    measure();
    draw();
  }).observe(canvas);
  onTheme(() => { colour(); draw(); });
  addEventListener("beforeprint", paint);

  drawer.append(el("summary", null, el("b", null, "Heat map of samples"), " ", el("span", { class: "aside" }, "select a time")), el("p", { class: "controls" }, el("label", null, "Rows ", by), help(HELP)), canvas, legend);
  drawer.addEventListener("toggle", () => {
    measure();
    describe();
    draw();
  });
  const told = el("div", null, el("p", { class: "controls" }, status, clear));

  return {
    element: el("div", { class: "heat" }, drawer, told),
    // The heat map shows everything that the query asks for, whatever is selected of it.
    part(query) {
      const same = state.query && ["event", "weight", "filters"].every((name) => JSON.stringify(query[name]) === JSON.stringify(state.query[name]));
      state.query = { ...query, filters: { ...query.filters } };
      if (!same) {
        state.taken = rowsOf(model, query);
        measure();
      }
      describe();
      draw();
      return { weights: weights(), filters: { ...query.filters, ...selection.filters(meta.dimensions) } };
    },
    linked: () => ({ time: rangesToText(selection.ranges), only: selection.focus ? JSON.stringify(selection.focus) : "" }),
    restore({ time: ranges, only }) {
      if (!ranges) return;
      drawer.open = true;
      selection.set(rangesFromText(ranges), focusFrom(only));
    },
    onChange: selection.onChange,
  };
}

// Restrictions as a link has them; none where the text is not what a link would hold.
function focusFrom(text) {
  try {
    const found = JSON.parse(text);
    return Array.isArray(found) && found.every((one) => one && Object.values(one).every(Array.isArray)) ? found : null;
  } catch {
    return null;
  }
}
