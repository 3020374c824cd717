// The rows of a ledger as a tree in a table: one Tab stop; ↑ ↓ move, → opens, ← closes or goes up.
import { meaningOfRow, paint } from "../ui/colours.js";
import { el } from "../ui/dom.js";
import { count, gone, interval, percent, time, words } from "../ui/format.js";
import { facts, tipOn } from "../ui/tip.js";
import { folded, startsClosed, tree } from "./folding.js";

// How a value is known, where it was not counted.
const METHODS = { sampled: "sampled", apportioned: "apportioned", by_complement: "by subtraction", unavailable: "not available" };
const EXPLAINED = {
  exact: "counted exactly",
  sampled: "a share of samples, with its 95 % interval",
  apportioned: "an exact total split by another exact share",
  by_complement: "by subtraction: what the other rows do not cover",
  unavailable: "not available",
};

const hasRange = (row) => row.low_ns !== null && row.low_ns !== undefined && row.low_ns !== row.high_ns;

export function rowFacts(row, whole) {
  return [
    ["time", time(row.value_ns)],
    ["share", percent(row.value_ns / whole)],
    ["95 % interval", hasRange(row) ? interval(row.low_ns, row.high_ns, "ns") : null],
    ["n", row.n && count(row.n)],
    ["how", EXPLAINED[row.method] ?? row.method],
    ["source", row.source],
  ];
}

// `label` says what the rows are of.
export function rowsTable(rows, total, label) {
  const lines = [];
  const emit = (nodes, depth, parent) => {
    for (const node of parent?.closed ? nodes : folded(nodes, total)) {
      const line = { node, depth, parent, closed: node.children.length > 0 && startsClosed(node, total) };
      line.element = draw(line, total);
      lines.push(line);
      emit(node.children, depth + 1, line);
    }
  };
  emit(tree(rows), 0, null);
  const open = (line) => !line.parent || (!line.parent.closed && open(line.parent));
  const update = () => lines.forEach((line) => {
    line.element.hidden = !open(line);
    if (line.node.children.length) line.element.setAttribute("aria-expanded", String(!line.closed));
  });
  const of = (target) => lines.find((line) => line.element === target.closest("tr"));
  const toggle = (line) => { line.closed = !line.closed; update(); };

  function onKey(event) {
    const line = of(event.target);
    if (!line) return;
    const parts = line.node.children.length > 0;
    const { key } = event;
    if (parts && (key === "Enter" || key === " ")) toggle(line);
    else if (key === "ArrowRight" && parts && line.closed) toggle(line);
    else if (key === "ArrowLeft" && parts && !line.closed) toggle(line);
    else if (key === "ArrowLeft" && line.parent) line.parent.element.focus();
    else if (key !== "ArrowLeft" && key !== "ArrowRight") return;
    event.preventDefault();
  }

  update();
  return el("div", { class: "scroll" }, el("table", { class: "rows", role: "treegrid", "aria-label": label, on: { keydown: onKey, click: (event) => { const line = of(event.target); if (line?.node.children.length) toggle(line); } } },
    el("thead", null, el("tr", null, el("th", { scope: "col" }, "Row"), el("th", { scope: "col", class: "n" }, "Time"), el("th", { scope: "col", class: "n" }, "Share"), el("th", { scope: "col" }, "95 % interval"))),
    el("tbody", null, lines.map((line) => line.element))));
}

function draw({ node, depth }, total) {
  const { row } = node;
  const parts = node.children.length > 0;
  const missing = row && gone(row.value_ns);
  const name = node.rest ? `${count(node.children.length)} smaller rows, together` : words(node.name);
  const swatch = node.rest || missing ? null : paint(meaningOfRow(row.path));
  const first = el("td", { style: { "padding-left": `${6 + depth * 16}px` } },
    el("i", { class: "swatch", style: { background: swatch?.background ?? "transparent" } }), name, parts && el("span", { class: "fold", "aria-hidden": "true" }));
  const line = el("tr", { class: [missing ? "gone" : node.rest ? "rest" : `d${Math.min(depth, 2)}`, parts && "parent"].filter(Boolean).join(" "), tabindex: "0", "aria-level": depth + 1, "data-row": row?.path }, first,
    missing ? el("td", { colspan: 3, class: "reason" }, row.source ?? "not available") : [
      el("td", { class: "n" }, time(node.value)),
      el("td", { class: "n" }, percent(total ? node.value / total : row?.share)),
      el("td", { class: "dim" }, row ? (hasRange(row) ? interval(row.low_ns, row.high_ns, "ns") : METHODS[row.method] ?? "") : ""),
    ]);
  return row && !missing ? tipOn(line, () => facts(words(row.path).replaceAll("/", " › "), rowFacts(row, total || row.value_ns || 1))) : line;
}
