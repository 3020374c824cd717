// Layouts: executor JVMs and where they ran, the best of each place, and what places change.
import { el, missing, section } from "./dom.js";
import { gone, p, seconds, times, within } from "./experiment-format.js";
import { bytes, percent, significant } from "./format.js";
import { table } from "./table.js";

const TEXT = "Executor JVMs × task slots of each, with the same slots and heap in all. Throughput is over one JVM at the same place, within blocks; shares are of slots × time. Intervals are of 95 %.";
const share = (name, label) => ({ label, number: true, value: (one) => one.measures[name]?.value, show: (one) => within(one.measures[name], percent) });

export function layoutSection(made, note) {
  if (!made) return null;
  const lacking = Object.entries(made.missing).map(([name, why]) => `${name.replaceAll("_", " ")}: ${why}`);
  return section("layout", "Layouts", TEXT, note && el("p", { class: "note" }, el("bdi", null, note)),
    el("ul", null, made.places.map((place) => el("li", null, best(place)))),
    table([
      { label: "Place", value: (one) => one.place }, { label: "JVMs × slots", value: (one) => one.layout },
      { label: "Heap of each", number: true, value: (one) => one.heap_bytes, show: (one) => bytes(one.heap_bytes) },
      { label: "Time", number: true, value: (one) => one.elapsed_s.value, show: (one) => within(one.elapsed_s, seconds) },
      { label: "Throughput", number: true, value: (one) => one.throughput?.value, show: (one) => within(one.throughput, times) },
      share("gc_share", "GC"), share("lock_share", "Locks"), share("spin_share", "Spinning"),
      { label: "Moves a second", number: true, value: (one) => one.measures.migrations_per_s?.value, show: (one) => within(one.measures.migrations_per_s, significant) },
      share("remote_share", "Remote"),
      { label: "CPUs allowed", value: allowed, help: "Of each executor of the last trial, as the kernel told it inside the JVM." },
    ], made.layouts, { empty: "No trial has finished." }),
    lacking.length > 0 && el("p", { class: "aside" }, `Not known: ${lacking.join("; ")}.`),
    el("h3", null, "From place to place"),
    made.changes.length ? table([
      { label: "From", value: (one) => one.a }, { label: "To", value: (one) => one.b },
      { label: "Layouts", value: (one) => one.layout_a && `${one.layout_a} → ${one.layout_b}`, help: "The best of each by all blocks; in each block both have the one that the other blocks choose." },
      { label: "Speed-up", number: true, value: (one) => one.speedup?.value, show: (one) => within(one.speedup, times) },
      { label: "p", number: true, value: (one) => one.p, show: (one) => p(one.p), help: "After Holm, for all pairs of places." },
      { label: "It is", value: (one) => one.reason ?? one.verdict },
    ], made.changes) : missing("There are no two places to set side by side."));
}

export function best({ place, what, best: found, reason }) {
  if (!found) return `${place} (${what}): ${reason}`;
  const others = found.could_be.filter((name) => name !== found.layout);
  return `${place} (${what}): best ${found.layout}${others.length ? `, not surely (${others.join(", ")} could be)` : ""}; ${found.told}`;
}

export function allowed({ trials }) {
  return trials.at(-1)?.executors.map(({ cpus, memory }) => `${cpus ?? "?"}${gone(memory) || memory === "default" ? "" : ` ${memory}`}`).join(" | ") || null;
}
