// Memory and code of the run: page faults, swap, allocation, and how the JVM ran Java code.
import { el, missing, section } from "./dom.js";
import { KIND_COLOURS, NEUTRAL } from "./colours.js";
import { bytes, count, unit } from "./format.js";
import { panel, row } from "./cpu.js";
import { help } from "./tip.js";

const TEXT = "What the tasks did with memory, and in which form the JVM ran their code, within the window.";
const KINDS = { interpreted: "interpreted", c1: "compiled by C1", c2: "compiled by C2", no_java_frame: "no Java frame" };
const NOT_TOLD = "This summary was made without it.";

export function resourcesSection({ memory, code }) {
  return section("resources", "Memory and code", TEXT, el("div", { class: "two" }, codeKinds(code), memoryFacts(memory)));
}

function codeKinds(code) {
  const list = (code?.kinds ?? []).filter((kind) => kind.on_cpu_ns !== null || kind.share !== null);
  const most = Math.max(1, ...list.map((kind) => kind.estimate?.high ?? kind.on_cpu_ns ?? 0));
  return panel("Java code by how it ran", "CPU of task threads by the innermost Java frame of each sample: interpreted, or compiled by one of the JVM's two compilers. Code that stays interpreted or with C1 is not yet warm, or too large to compile. The thin line is the 95 % interval.",
    list.map((kind) => row(KINDS[kind.kind] ?? kind.kind, kind.on_cpu_ns, kind.share, most, kind.estimate, KIND_COLOURS[kind.kind] ?? NEUTRAL)), code?.reason ?? NOT_TOLD);
}

function memoryFacts(memory) {
  const { allocation, faults, swap } = memory ?? {};
  const rows = [
    ["Allocated by tasks", bytes(allocation?.allocated_bytes), allocation?.reason, "Bytes of Java objects that task threads allocated, as the JVM counts them."],
    ["… per second", unit(allocation?.bytes_per_s, "bytes/s"), allocation?.reason, "The same, by the length of the window."],
    ["Minor page faults", count(faults?.minor_count), faults?.reason, "Pages that the kernel had to map for the application's processes, without a disk."],
    ["Major page faults", count(faults?.major_count), faults?.reason, "Page faults that waited for a disk: memory mapped files that were not in the page cache, or swap."],
    ["In swap, at most", bytes(swap?.peak_bytes), swap?.reason, "Most memory of the application that was in swap at once."],
    ["Read from swap by the host", bytes(swap?.host_read_bytes), swap?.reason, "By all programs of the host."],
    ["Written to swap by the host", bytes(swap?.host_written_bytes), swap?.reason, "By all programs of the host."],
  ];
  return el("div", { class: "panel" }, el("h3", null, "Memory"),
    memory ? el("table", { class: "resources" }, el("tbody", null, rows.map(([label, value, reason, text]) => el("tr", null,
      el("th", { scope: "row" }, label, " ", help(text)), el("td", { class: "n" }, value), el("td", { class: "aside" }, value === "–" ? reason ?? "not recorded" : null))))) : missing(NOT_TOLD));
}
