// A suite query by query: its SQL, plan, bytes and times.
import { bar } from "../ui/bars.js";
import { el, missing, section } from "../ui/dom.js";
import { bytes, count, gone, interval, time, words } from "../ui/format.js";
import { table } from "../ui/table.js";
import { facts, tipOn } from "../ui/tip.js";
import { breakdownPanel } from "./breakdown.js";

const HELP = "Each query of the run: its SQL, its final plan, what it reads and shuffles, and how long it takes once warm. Click a heading to sort.";

export function queriesSection(characterisation) {
  if (!characterisation) return null;
  const parts = characterisation.parts ?? [];
  if (!parts.length) return section("queries", "Queries", HELP, missing(characterisation.reason));
  const slowest = Math.max(1, ...parts.map((part) => part.elapsed_ns?.value ?? 0));
  const heavy = parts.filter((part) => part.shuffle_heavy).map((part) => part.name);
  const unknown = characterisation.input_reason;
  const columns = [
    { label: "Query", value: (q) => q.name, show: (q) => el("bdi", null, q.name), class: "name" },
    { label: "SQL", value: (q) => total(q.sql), show: (q) => counts(q.sql), help: "Clauses in the text of the query." },
    { label: "Operators", value: (q) => total(q.operators), show: (q) => counts(q.operators), help: "In the final plan of the last iteration." },
    { label: "Stages", value: (q) => q.stages_count, show: stages, number: true, help: "Stages run; after the +, stages skipped because their output already existed." },
    { label: "Tasks", value: (q) => q.tasks_count, show: (q) => count(q.tasks_count), number: true },
    { label: "Input", value: (q) => q.input_bytes, show: (q) => bytes(q.input_bytes), number: true },
    { label: "Shuffle", value: (q) => q.shuffle_bytes, show: shuffle, number: true, help: "Bytes read and written; bold if more than the input (shuffle-heavy)." },
    { label: "Time", value: (q) => q.elapsed_ns?.value, show: (q) => bar(q.elapsed_ns?.value, slowest, steadyTime(q)), number: true, help: "Mean of the iterations after warm-up, with its 95 % interval." },
    { label: "Each iteration", value: (q) => (q.times_ns ?? []).length, show: eachIteration, help: "Time of every iteration, on a scale of its own for each query; warm-up iterations are pale." },
    { label: "Warm-up", value: (q) => q.warmup_iterations, show: (q) => (gone(q.warmup_iterations) ? q.warmup : count(q.warmup_iterations)), number: true, help: "Iterations before the times are steady, or why that is unknown." },
    { label: "Doubts", value: (q) => (q.doubts ?? []).length, show: (q) => (q.doubts ?? []).join("; ") || null },
  ];
  const optional = { SQL: (q) => q.sql, Doubts: (q) => q.doubts?.length };
  const used = columns.filter(({ label }) => !optional[label] || parts.some(optional[label]));
  return section("queries", "Queries", HELP, table(used, parts),
    el("p", { class: "note" }, `${count(characterisation.iterations_count)} iterations. Shuffle-heavy: `, el("bdi", null, unknown ? "unknown" : heavy.join(", ") || "none"), "."),
    unknown && el("p", { class: "note" }, "Input unknown: ", el("bdi", null, unknown)),
    breakdownPanel(characterisation));
}

const total = (found) => (found ? Object.values(found).reduce((sum, n) => sum + (n ?? 0), 0) : null);

// { joins: 2, subqueries: 1, unions: 0 } as "2 joins, 1 subquery".
export function counts(found) {
  if (!found) return null;
  const one = (text) => text.replace(/ies$/, "y").replace(/s$/, "");
  return Object.entries(found).filter(([, n]) => n).map(([name, n]) => `${n} ${n === 1 ? one(words(name)) : words(name)}`).join(", ") || null;
}

function stages(query) {
  return count(query.stages_count) + (query.skipped_stages_count ? ` +${count(query.skipped_stages_count)}` : "");
}

function shuffle(query) {
  const text = bytes(query.shuffle_bytes);
  return query.shuffle_heavy ? el("strong", null, text) : text;
}

function steadyTime(query) {
  const { value, low, high } = query.elapsed_ns ?? {};
  const range = low === high ? null : interval(low, high, "ns");
  return time(value) + (range ? ` (${range})` : "");
}

function eachIteration(query) {
  const times = query.times_ns ?? [];
  const most = Math.max(1, ...times.map((ns) => ns ?? 0));
  const warm = query.warmup_iterations ?? 0;
  const node = el("span", { class: "beats", tabindex: "0", role: "img", "aria-label": times.map(time).join(", ") },
    times.map((ns, index) => el("span", { class: index < warm ? "pale" : null, style: { height: `${Math.max(4, ((ns ?? 0) / most) * 100)}%` } })));
  return tipOn(node, () => facts(query.name, times.map((ns, index) => [`iteration ${index}${index < warm ? " (warm-up)" : ""}`, time(ns)])));
}
