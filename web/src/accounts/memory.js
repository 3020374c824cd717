// Memory and code of the run: page faults, swap, allocation, and how the JVM ran Java code.
import { barPanel, cpuBar } from "../ui/bars.js";
import { KIND_COLOURS, NEUTRAL } from "../ui/colours.js";
import { el, missing, section } from "../ui/dom.js";
import { bytes, count, NONE, percent, time, unit } from "../ui/format.js";
import { help } from "../ui/tip.js";

const TEXT = "How the tasks used memory, and how the JVM executed their code, within the window.";
const KINDS = { interpreted: "interpreted", c1: "compiled by C1", c2: "compiled by C2", no_java_frame: "no Java frame" };
const MISSING = "This summary does not include it.";

export function memorySection({ memory, code }) {
  return section("resources", "Memory and code", TEXT, el("div", { class: "two" }, codeKinds(code), memoryFacts(memory)));
}

function codeKinds(code) {
  const list = (code?.kinds ?? []).filter((kind) => kind.on_cpu_ns !== null || kind.share !== null);
  const most = Math.max(1, ...list.map((kind) => kind.estimate?.high ?? kind.on_cpu_ns ?? 0));
  return barPanel("Java code by execution mode", "CPU time of task threads by the innermost Java frame of each sample: interpreted, or compiled by one of the JVM's two JIT compilers. Code that stays interpreted or at C1 is not warm yet, or too large to compile. The thin line is the 95 % interval.",
    list.map((kind) => cpuBar(KINDS[kind.kind] ?? kind.kind, kind.on_cpu_ns, kind.share, most, kind.estimate, KIND_COLOURS[kind.kind] ?? NEUTRAL)), code?.reason ?? MISSING);
}

/** Rows about NUMA nodes; none of a run that was not about them. */
export function nodes(numa) {
  if (!numa) return [];
  return [
    ...numa.nodes.map((one) => [`Executors on node ${one.node}`, bytes(one.executors_bytes), null, `The node gave out ${count(one.given_pages_count)} pages in the run, ${count(one.other_node_pages_count)} of them to programs on another node.`]),
    ["On the node it is bound to", percent(numa.bound_ratio), numa.reason, "Share of an executor's memory, of the executor with the least."],
  ];
}

const WAITS = {
  reclaim: ["Direct reclaim in tasks", "Time in which threads of tasks had to free memory before they got any: the control group's limit was met, or the machine was full."],
  swap_in: ["Swap-in in tasks", "Time in which threads of tasks waited for pages from swap."],
  thrashing: ["Thrashing in tasks", "Time in which threads of tasks waited for pages that had been evicted a moment before."],
  compaction: ["Compaction in tasks", "Time in which threads of tasks moved pages together for a huge page."],
};

/** Rows about waits for memory, by the kernel's delay accounting; none of a summary that does not have them. */
export function memoryWaits(waits) {
  if (!waits) return [];
  if (!waits.kinds.length) return [["Waits of tasks for memory", NONE, waits.reason, "By the kernel's delay accounting: direct reclaim, swap-in, thrashing, compaction."]];
  return waits.kinds.map(({ kind, time_ns: spent, share, reason }) => {
    const [label, text] = WAITS[kind] ?? [kind, ""];
    const bounds = spent?.value ? ` (${time(spent.low)} – ${time(spent.high)})` : "";
    const of = spent?.value && share !== null ? `, ${percent(share)} of task time` : "";
    return [label, time(spent?.value) + bounds + of, reason, `${text} By the kernel's delay accounting; the bounds are what the readings leave open, and kinds may overlap.`];
  });
}

function memoryFacts(memory) {
  const { allocation, faults, swap, waits, numa } = memory ?? {};
  const rows = [
    ["Allocated by tasks", bytes(allocation?.allocated_bytes), allocation?.reason, "Bytes of Java objects that task threads allocated, counted by the JVM."],
    ["… per second", unit(allocation?.bytes_per_s, "bytes/s"), allocation?.reason, "The same, divided by the length of the window."],
    ["Minor page faults", count(faults?.minor_count), faults?.reason, "Pages that the kernel mapped for the application's processes without reading from disk."],
    ["Major page faults", count(faults?.major_count), faults?.reason, "Page faults that waited for the disk: memory-mapped files outside the page cache, or swap."],
    ["Swapped out, peak", bytes(swap?.peak_bytes), swap?.reason, "Largest amount of the application's memory that was in swap at one time."],
    ["Read from swap by the host", bytes(swap?.host_read_bytes), swap?.reason, "By all processes of the host."],
    ["Written to swap by the host", bytes(swap?.host_written_bytes), swap?.reason, "By all processes of the host."],
    ...memoryWaits(waits),
    ...nodes(numa),
  ];
  return el("div", { class: "panel" }, el("h3", null, "Memory"),
    memory ? el("table", { class: "resources" }, el("tbody", null, rows.map(([label, value, reason, text]) => el("tr", null,
      el("th", { scope: "row" }, label, " ", help(text)), el("td", { class: "n" }, value), el("td", { class: "aside" }, value === "–" ? reason ?? "not recorded" : null))))) : missing(MISSING));
}
