// The ledger: where every slot-second and every core-second went, as bars and rows.
import { meaningOfRow, paint } from "../ui/colours.js";
import { el, missing, section } from "../ui/dom.js";
import { gone, percent, signedPercent, time, words } from "../ui/format.js";
import { facts, help, tipOn } from "../ui/tip.js";
import { drillDown } from "./drill-down.js";
import { tree } from "./folding.js";
import { hostsPanel } from "./hosts.js";
import { rowFacts, rowsTable } from "./rows.js";

const VIEWS = [
  ["slot_view", "Slot view", "Task slots × length of the window: every second of every slot, once. What did the slots do?"],
  ["core_view", "Core view", "CPUs × length of the window: every second of every CPU, once. What did the CPUs do?"],
];

export function ledgerSection(ledger, walk) {
  return section("ledger", "Where the time went",
    "Accounts of the same window, each adding up to its total: what was paid for. What was waited for stands above.",
    views(ledger),
    hostsPanel(ledger?.hosts, quality),
    drillDown(walk, (data) => [quality(data), rowsTable(data.rows, data.total_ns, "Rows of the ledger"), endedBy(data.ended_by, data.total_ns)]),
    checks(ledger?.checks));
}

// Of a run without records of the operating system the slot view alone.
function views(ledger) {
  const known = VIEWS.filter(([key]) => ledger?.[key]?.rows?.length);
  const shown = known.length ? known : VIEWS.slice(0, 1);
  return el("div", { class: shown.length > 1 ? "two" : null }, shown.map(([key, title, text]) => view(title, text, ledger?.[key])));
}

function view(title, text, data) {
  const rows = data?.rows ?? [];
  return el("div", { class: "panel" },
    el("h3", null, title, help(text), data?.window && el("span", { class: "aside" }, data.window), data?.total_ns && el("span", { class: "aside" }, time(data.total_ns))),
    rows.length ? [quality(data), icicle(rows, data.total_ns), rowsTable(rows, data.total_ns, `${title}: rows`), endedBy(data.ended_by, data.total_ns), memos(data.memos)] : missing(data?.reason || "This view needs records of the operating system, which this run does not have."));
}

// The three figures in one sentence.
export function quality(data) {
  const parts = [];
  if (!gone(data.closure_ratio)) parts.push(["The rows add up to ", el("b", null, percent(1 + data.closure_ratio)), " of the total (closure ", el("b", null, signedPercent(data.closure_ratio)), ")"]);
  else parts.push(["It is unknown whether the rows add up to the total (closure)"]);
  if (!gone(data.unclassified_ratio)) parts.push(["; ", el("b", null, percent(data.unclassified_ratio)), " has no category (unclassified)"]);
  if (!gone(data.sampling_error_ratio)) parts.push(["; shares from samples are accurate to ± ", el("b", null, percent(data.sampling_error_ratio)), " (sampling error)"]);
  if (data.resolution_ns && data.total_ns) parts.push(["; coarse clocks alone can shift the sum by ± ", el("b", null, percent(data.resolution_ns / data.total_ns)), " (resolution)"]);
  return el("p", { class: "quality" }, parts, ".",
    help("Closure: the sum of independently measured parts compared with the total, signed. Unclassified: time of unknown kind. Sampling error: half the widest 95 % interval. Resolution: Spark logs whole milliseconds, the kernel counts ticks. They are never mixed, and nothing is rescaled to fit."));
}

// Stacked bars: one line per level, each part under its parent.
function icicle(rows, total) {
  const lines = [];
  const sum = rows.filter((row) => !row.parent).reduce((all, row) => all + Math.max(0, row.value_ns ?? 0), 0);
  // Rows that add up to more than the whole are shown so, past a mark at the whole.
  const whole = Math.max(total ?? 0, sum) || 1;
  const over = total && sum > total * 1.001;
  const place = (nodes, depth, start) => {
    let left = start;
    for (const node of nodes) {
      if (node.value > 0) {
        (lines[depth] ??= []).push({ node, left, width: node.value / whole });
        place(node.children, depth + 1, left);
      }
      left += Math.max(0, node.value / whole);
    }
  };
  place(tree(rows), 0, 0);
  return el("div", { class: "icicle", role: "img", "aria-label": "Parts of the total as bars; the table below has the same numbers" }, lines.map((line) => el("div", { class: "line" }, line.map(({ node, left, width }) => {
    const part = el("span", { class: "part", style: { left: `${left * 100}%`, width: `${width * 100}%`, ...paint(meaningOfRow(node.row.path)) } }, width > 0.045 ? words(node.name) : "");
    return tipOn(part, () => facts(words(node.row.path).replaceAll("/", " › "), rowFacts(node.row, total || whole)));
  }))), over && el("span", { class: "whole", style: { left: `${(total / whole) * 100}%` }, title: "100 % of the window" }));
}

// Waits by what ended them: another view of rows above, not part of the sum.
function endedBy(rows, total) {
  if (!rows?.length) return null;
  return el("details", { class: "checks" }, el("summary", null, "Time asleep by what ended each wait"),
    el("dl", { class: "pairs" }, rows.map((row) => [el("dt", null, words(row.path)), el("dd", null, time(row.value_ns), el("span", { class: "aside" }, ` ${percent(total ? row.value_ns / total : row.share)}, ${row.n ?? 0} waits`))])));
}

// Times that overlap with rows above, not part of the sum.
function memos(rows) {
  if (!rows?.length) return null;
  return el("details", { class: "checks" }, el("summary", null, "Not part of the sum: times already contained in rows above"),
    el("dl", { class: "pairs" }, rows.map((row) => [el("dt", null, words(row.path).replaceAll("/", " › ")), el("dd", null, row.value_ns === null ? "–" : time(row.value_ns), el("span", { class: "aside" }, ` ${row.source ?? ""}`))])));
}

function checks(list) {
  if (!list?.length) return null;
  return el("details", { class: "checks" },
    el("summary", null, `Cross-checks: ${list.filter((check) => check.ok).length} of ${list.filter((check) => check.ok !== null).length} agree`),
    el("ul", null, list.map((check) => el("li", { class: check.ok ? "ok" : check.ok === null ? "aside" : "bad" },
      el("b", null, check.ok ? "✓ " : check.ok === null ? "· " : "✗ "), check.name, ": ", time(check.left_ns), " against ", time(check.right_ns), " (", signedPercent(check.difference_ratio), "). ", check.explanation))));
}
