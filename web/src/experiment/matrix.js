// The matrix of an experiment as a heat map: a table whose cells lead to their trials.
import { el, section } from "../ui/dom.js";
import { bounds, ink, LESS, MORE } from "../ui/colours.js";
import { range, seconds } from "../ui/estimates.js";
import { gone, NONE, percent, signedPercent } from "../ui/format.js";
import { facts, tipOn } from "../ui/tip.js";

const MOST_GRIDS = 40;
const KEY = { less: (limit) => `less by ${percent(Math.expm1(limit))}`, none: (limit) => `within ${percent(Math.expm1(limit))}`, more: (limit) => `more by ${percent(Math.expm1(limit))}` };

// Colour of a ratio: blue took less time, red more, none close to 1, pale if undecided.
export function shade(ratio, limits, sure = true) {
  if (gone(ratio)) return null;
  const size = Math.abs(Math.log(ratio));
  const step = limits.filter((limit) => size >= limit).length;
  return step ? (ratio < 1 ? LESS : MORE)[sure ? step : 0] : null;
}

// Split treatments into grids of two factors, one for each combination of the others' levels.
export function grids(matrix) {
  const names = Object.keys(matrix.factors);
  const [rows, columns, ...others] = names;
  const found = new Map();
  for (const cell of matrix.cells) {
    const key = others.map((name) => `${name} = ${cell.levels[name] ?? "–"}`).join(", ");
    (found.get(key) ?? found.set(key, []).get(key)).push(cell);
  }
  return { rows, columns, parts: [...found].map(([title, cells]) => ({ title, cells })) };
}

// `describe(cell)` gives the lines of a cell, the first in bold, and the facts of its tooltip; `limits`
// are the logarithms of ratios where the colours change, `key` has the words for them.
export function matrixSection(matrix, choose, { title: heading = "Matrix", text = textOf(matrix), describe = timed, limits = limitsOf(matrix), key = KEY } = {}) {
  const { rows, columns, parts } = grids(matrix);
  const shown = parts.slice(0, MOST_GRIDS);
  return section("matrix", heading, text, legend(limits, key),
    el("div", { class: "grids" }, shown.map(({ title, cells }) => grid(matrix, rows, columns, title, cells, limits, choose, describe))),
    parts.length > shown.length && el("p", { class: "note" }, `${parts.length - shown.length} more combinations of other factors: see the treatments below.`));
}

const textOf = ({ reference }) => `Time of each treatment relative to ${reference}: blue took less, red more. Click a cell for its trials; hatched cells were not run and say why.`;

const limitsOf = (matrix) => bounds(Math.max(0, ...matrix.cells.filter((cell) => cell.ratio).map((cell) => Math.abs(Math.log(cell.ratio)))));

function legend(limits, key) {
  if (!limits.length) return null;
  const entry = (colour, text) => el("span", null, el("i", { class: "swatch", style: { background: colour ?? "transparent" } }), text);
  const unsure = [LESS[0], MORE[0]].map((colour) => el("i", { class: "swatch", style: { background: colour } }));
  return el("p", { class: "legend" },
    [2, 1, 0].map((at) => entry(LESS[at + 1], `${key.less(limits[at])}${at === 2 ? ` or ${key.lowest ?? "more"}` : ""}`)), entry(null, key.none(limits[0])),
    [0, 1, 2].map((at) => entry(MORE[at + 1], `${key.more(limits[at])}${at === 2 ? " or more" : ""}`)), el("span", null, unsure, "cannot tell"));
}

function grid(matrix, rows, columns, title, cells, limits, choose, describe) {
  const level = (cell, name) => cell.levels[name] ?? "–";
  // A level that no treatment of this grid has would be a row or column of nothing.
  const met = (name) => matrix.factors[name].filter((one) => cells.some((cell) => level(cell, name) === one));
  const across = columns ? met(columns) : [null];
  const at = (row, column) => cells.find((cell) => (!rows || level(cell, rows) === row) && (!columns || level(cell, columns) === column));
  return el("div", { class: "scroll" }, el("table", { class: "matrix" },
    title && el("caption", null, el("bdi", null, title)),
    el("thead", null,
      columns && el("tr", null, el("td"), el("th", { colspan: across.length, scope: "colgroup" }, el("bdi", null, columns))),
      el("tr", null, el("th", { scope: "col" }, el("bdi", null, rows ?? "treatment")), across.map((name) => el("th", { scope: "col" }, columns ? el("bdi", null, name) : "time")))),
    el("tbody", null, (rows ? met(rows) : [NONE]).map((row) => el("tr", null,
      el("th", { scope: "row" }, el("bdi", null, row)), across.map((column) => cellOf(at(row, column), limits, choose, describe)))))));
}

function timed(cell) {
  return {
    lines: [signedPercent(cell.ratio - 1), seconds(cell.time.value), cell.verdict],
    pairs: [
      ["geometric mean", seconds(cell.time.value)], ["95 %", range(cell.time, seconds)], ["trials", cell.time.n],
      cell.change && ["change from the baseline", signedPercent(cell.change.value)], cell.change && ["95 %", range(cell.change, signedPercent)], ["verdict", cell.verdict],
    ],
  };
}

function cellOf(cell, limits, choose, describe) {
  if (!cell) return el("td", null, NONE);
  if (gone(cell.ratio)) {
    const note = el("button", { type: "button", class: "link", "aria-label": `${cell.treatment}: ${cell.reason}` }, "not run");
    return el("td", { class: "out" }, tipOn(note, () => facts(cell.treatment, [["why", cell.reason]])));
  }
  const colour = shade(cell.ratio, limits, cell.verdict !== "cannot tell");
  const { lines: [first, ...others], pairs } = describe(cell);
  const rest = others.filter(Boolean);
  const button = el("button", { type: "button", class: "link", on: { click: () => choose(cell.treatment) }, style: colour ? { color: ink(colour) } : {}, "aria-label": `${cell.treatment}: ${[first, ...rest].join(", ")}` },
    el("b", null, first), rest.map((text) => el("span", null, text)));
  return el("td", { style: colour ? { background: colour } : {} }, tipOn(button, () => facts(cell.treatment, pairs)));
}
