// CPU time of all threads by component, a stacked bar for each query of a suite.
import { ink, named } from "../ui/colours.js";
import { el, missing } from "../ui/dom.js";
import { percent, time } from "../ui/format.js";
import { facts, help, tipOn } from "../ui/tip.js";

const NAMES = { java: "Java", codec: "native codec", gc: "GC", jit: "JIT compiler", vm: "JVM", kernel: "kernel", python: "Python", native: "other native" };
const NARROW = 0.06;

const BARS = [
  ["components", "By component", "CPU time of all threads of the application by the code that ran: Java (interpreted or compiled), native codecs, the garbage collector, the JIT compiler, the rest of the JVM, the kernel."],
  ["java", "Java code by purpose", "The Java part of the other bar: SQL operators, reading and writing files, serialisation, shuffle, code generation, planning and scheduling."],
];

export function breakdownPanel(characterisation) {
  const parts = (characterisation.parts ?? []).filter((part) => part.breakdown?.samples_count);
  const title = el("h3", null, "CPU by component");
  if (!parts.length) return el("div", { class: "panel" }, title, missing(characterisation.breakdown_reason));
  return el("div", { class: "panel" }, title,
    el("div", { class: "two" }, BARS.map(([key, name, text]) => el("div", null, el("h4", null, name, help(text)), legend(parts, key), parts.map((part) => line(part, key))))));
}

const used = (rows) => rows.filter((row) => row.share?.value > 0);
const label = (name) => NAMES[name] ?? name;

function legend(parts, key) {
  const names = new Set(parts.flatMap((part) => used(part.breakdown[key]).map((row) => row.name)));
  return el("div", { class: "legend" }, parts[0].breakdown[key].filter((row) => names.has(row.name)).map((row) =>
    el("span", null, el("i", { class: "swatch", style: { background: named(row.name) } }), label(row.name))));
}

function line(part, key) {
  const rows = used(part.breakdown[key]);
  const words = rows.map((row) => `${label(row.name)} ${percent(row.share.value)}`).join(", ");
  const bar = el("span", { class: "stacked", tabindex: "0", role: "img", "aria-label": `${part.name}: ${words}` }, rows.map((row) => {
    const shade = named(row.name);
    return el("i", { style: { width: `${100 * row.share.value}%`, background: shade, color: ink(shade) } }, row.share.value >= NARROW ? percent(row.share.value) : null);
  }));
  tipOn(bar, () => facts(part.name, [...rows.map((row) => [label(row.name), `${percent(row.share.value)} (${percent(row.share.low)} – ${percent(row.share.high)}) · ${time(row.on_cpu_ns)}`]), ["samples", String(rows[0]?.share.n ?? 0)]]));
  return el("div", { class: "part-bar" }, el("bdi", { class: "name" }, part.name), bar);
}
