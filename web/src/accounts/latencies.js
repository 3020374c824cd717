// Heat maps of I/O latencies over time: devices, and system calls that read files.
import { el, missing, replace } from "../ui/dom.js";
import { count, interval } from "../ui/format.js";
import { coloured, paintHeat, placeOf, scaleLegend } from "../ui/heat-cells.js";
import { onTheme } from "../ui/theme.js";
import { clock } from "../ui/time-axis.js";
import { facts, help, hideTip, showTip } from "../ui/tip.js";
import { latencyGrid, processName, seriesName } from "./latency-grid.js";

const HELP = "Columns are time, rows are latencies in powers of two, slowest on top, colour is the number of requests or calls. A band that moves up means that the device slowed down, two bands that a cache answered some. Arrow keys move over the cells.";

export function latencyHeat(meta, columns, marks = []) {
  if (!meta || meta.reason || !columns) return missing(meta?.reason ?? "This page has no latencies over time.");
  const places = meta.series.map((one, series) => ({ one, series }));
  const calls = places.filter(({ one }) => one.kind === "read");
  const devices = places.filter(({ one }) => one.kind !== "read");
  return el("div", { class: "two" }, [["Devices", devices], ["File reads", calls]].map(([title, list]) =>
    el("div", { class: "panel latency" }, el("h3", null, title, help(HELP), meta.cut && el("span", { class: "aside" }, meta.cut)),
      list.length ? map(title, meta, columns, list, marks) : missing("None in this run."))));
}

function map(title, meta, columns, list, marks) {
  const state = { grid: null, cursor: null };
  const image = document.createElement("canvas");
  const canvas = el("canvas", { tabindex: "0", role: "application", "aria-label": `Heat map of latencies. ${title}. ${HELP}` });
  const legend = el("div", { class: "legend" });
  const status = el("p", { class: "flame-status", "aria-live": "polite" });
  const option = (value, text) => el("option", { value }, text);
  const process = el("select", { "data-name": "latency-process", on: { change: () => measure() } });
  const what = el("select", { "data-name": "latency-what", on: { change: () => choose() } }, list.map(({ one, series }) => option(series, seriesName(one))));

  function choose() {
    replace(process, option("", "all processes"), meta.series[what.value].processes.map((one, at) => option(at, `${processName(one)} (${count(one.count)})`)));
    measure();
  }

  function measure() {
    state.grid = latencyGrid(meta, columns, Number(what.value), process.value === "" ? null : Number(process.value));
    state.cursor = null;
    colour();
  }

  function colour() {
    coloured(state.grid, image);
    scaleLegend(legend, state.grid, "count");
    paint();
  }

  function paint() {
    if (canvas.clientWidth) paintHeat(canvas, { grid: state.grid, image, marks, ranges: [], cursor: document.activeElement === canvas ? state.cursor : null });
  }

  function about({ column, row }) {
    const { grid } = state;
    const from = column * grid.cellMs;
    return [`${clock(from)} – ${clock(from + grid.cellMs)}`, [["latency", interval(...grid.bounds(row), "ns")], ["count", count(grid.at(column, row))]]];
  }

  canvas.addEventListener("pointermove", (event) => {
    const { x, y, tall, wide } = placeOf(state.grid, canvas.clientWidth);
    const cell = { column: Math.floor((event.offsetX - x) / wide), row: Math.floor((event.offsetY - y) / tall) };
    const inside = cell.column >= 0 && cell.column < state.grid.columns && cell.row >= 0 && cell.row < state.grid.rows;
    if (inside) showTip(event.clientX, event.clientY, ...facts(...about(cell)));
    else hideTip();
  });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    const old = state.cursor ?? { column: 0, row: 0 };
    const within = (value, most) => Math.min(most - 1, Math.max(0, value));
    state.cursor = state.cursor ? { column: within(old.column + step[0], state.grid.columns), row: within(old.row + step[1], state.grid.rows) } : old;
    const [when, pairs] = about(state.cursor);
    status.textContent = [when, ...pairs.map(([name, value]) => `${name} ${value}`)].join(" · ");
    paint();
  });
  canvas.addEventListener("focus", paint);
  canvas.addEventListener("blur", paint);
  new ResizeObserver(paint).observe(canvas);
  onTheme(colour);
  addEventListener("beforeprint", paint);
  choose();
  return [el("p", { class: "controls" }, el("label", null, "Series ", what), " ", el("label", null, "Process ", process)), canvas, legend, status];
}
