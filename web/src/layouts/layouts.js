// Layouts: executor JVMs and their placement, the best layout of each placement, and changes between placements.
import { bdi, el, missing, section } from "../ui/dom.js";
import { p, seconds, times, within } from "../ui/estimates.js";
import { bytes, gone, percent, significant } from "../ui/format.js";
import { table } from "../ui/table.js";

const TEXT = "Executor JVMs × task slots of each, with the same total of slots and heap. Throughput is relative to one JVM with the same placement, within blocks; shares are of slots × time. Intervals are 95 %.";
const share = (name, label) => ({ label, number: true, value: (one) => one.measures[name]?.value, show: (one) => within(one.measures[name], percent) });

export function layoutSection(layout, note) {
  if (!layout) return null;
  const lacking = Object.entries(layout.missing).map(([name, why]) => `${name.replaceAll("_", " ")}: ${why}`);
  return section("layout", "Layouts", TEXT, note && el("p", { class: "note" }, bdi(note)),
    el("ul", null, layout.places.map((place) => el("li", null, best(place)))),
    table([
      { label: "Placement", value: (one) => one.place }, { label: "JVMs × slots", value: (one) => one.layout },
      { label: "Heap per JVM", number: true, value: (one) => one.heap_bytes, show: (one) => bytes(one.heap_bytes) },
      { label: "Time", number: true, value: (one) => one.elapsed_s.value, show: (one) => within(one.elapsed_s, seconds) },
      { label: "Throughput", number: true, value: (one) => one.throughput?.value, show: (one) => within(one.throughput, times) },
      share("gc_share", "GC"), share("lock_share", "Locks"), share("spin_share", "Spinning"),
      { label: "Migrations/s", number: true, value: (one) => one.measures.migrations_per_s?.value, show: (one) => within(one.measures.migrations_per_s, significant) },
      share("remote_share", "Remote memory"),
      { label: "CPUs allowed", value: allowed, help: "Of each executor of the last trial, as the kernel reports it inside the JVM." },
    ], layout.layouts, { empty: "No trial has finished." }),
    lacking.length > 0 && el("p", { class: "aside" }, `Unknown: ${lacking.join("; ")}.`),
    el("h3", null, "Changes between placements"),
    layout.changes.length ? table([
      { label: "From", value: (one) => one.a }, { label: "To", value: (one) => one.b },
      { label: "Layouts", value: (one) => one.layout_a && `${one.layout_a} → ${one.layout_b}`, help: "The best layout of each over all blocks. Within a block, both sides use the layout that the other blocks select." },
      { label: "Speed-up", number: true, value: (one) => one.speedup?.value, show: (one) => within(one.speedup, times) },
      { label: "p", number: true, value: (one) => one.p, show: (one) => p(one.p), help: "Adjusted for all pairs of placements (Holm)." },
      { label: "Verdict", value: (one) => one.reason ?? one.verdict },
    ], layout.changes) : missing("There is only one placement."));
}

export function best({ place, what, best: found, reason }) {
  if (!found) return `${place} (${what}): ${reason}`;
  const others = found.could_be.filter((name) => name !== found.layout);
  return `${place} (${what}): best ${found.layout}${others.length ? ` (not distinguishable from ${others.join(", ")})` : ""}; ${found.told}`;
}

export function allowed({ trials }) {
  return trials.at(-1)?.executors.map(({ cpus, memory }) => `${cpus ?? "?"}${gone(memory) || memory === "default" ? "" : ` ${memory}`}`).join(" | ") || null;
}
