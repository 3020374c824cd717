// One colour for each meaning, in every bar, track and flame graph of every page, and the same in both
// themes. Colours that can stand in one bar are far enough apart for any eye
// (`web/test/ui/colour-distance.test.mjs`), and a colour never stands alone: its name is always next
// to it or under the pointer. Names that share a meaning share its colour.

// Meaning: colour, and the names that have it. The first that matches a name decides.
const MEANINGS = [
  ["unknown", "#8f959b", /unclassified|unmapped|unknown|unsplit|^other$|without metrics/],
  ["idle", "#bcc3ca", /^idle|no task|driver only|executor startup|waiting to launch|too few tasks|stage tail|^available$/],
  ["pyrometer", "#f8b8f8", /pyrometer/],
  ["contention", "#b07010", /run queue|runnable|steal|other process|^delay/],
  ["codec", "#6898b8", /compress|codec/],
  ["format", "#2060c8", /decode|encode|parquet|^files$|scan/],
  ["cast", "#e08820", /^cast|conversion/],
  ["jit", "#a88860", /jit|compil|codegen/],
  ["driver", "#9870f0", /driver|schedul|planning/],
  ["python", "#f0c030", /^python( workers?)?$|^for tasks$/],
  ["helper", "#90b098", /helper|python bridge/],
  ["shuffle", "#e03080", /shuffle|fetch|getting result/],
  ["serialisation", "#483090", /seriali[sz]/],
  ["sort", "#b8b878", /sort|spill/],
  ["hash", "#f8e098", /hash|aggregat/],
  ["udf", "#a8e0c0", /^udf/],
  ["gc", "#a84830", /^gc|garbage|pause|safepoint/],
  ["memory", "#882010", /memory|alloc|reclaim|swap/],
  ["io", "#184858", /block io|disk|iowait|io wait|^io$|network/],
  ["waiting", "#b898f8", /wait|lock|park|sleep|off cpu/],
  ["kernel", "#687880", /kernel|system|irq|exited threads|^native$/],
  ["vm", "#484838", /^vm|other jvm/],
  ["operator", "#287860", /operator|expression|task|user|on cpu|running|^java$|^sql$/],
];
export const COLOURS = Object.fromEntries(MEANINGS.map(([meaning, colour]) => [meaning, colour]));
export const NEUTRAL = COLOURS.unknown;

// Meaning of a name; null for one that has none of its own.
const meanings = new Map();

export function meaningOf(name) {
  const key = String(name ?? "unknown");
  if (!meanings.has(key)) {
    const text = key.toLowerCase().replace(/[_-]+/g, " ");
    meanings.set(key, MEANINGS.find(([, , pattern]) => pattern.test(text))?.[0] ?? null);
  }
  return meanings.get(key);
}

// Colour of a name. One without a meaning of its own is part of what it stands below.
export const named = (name, parent = "unknown") => COLOURS[meaningOf(name) ?? meaningOf(parent) ?? "unknown"];

// Meaning of a row of the ledger: no reason for an idle slot looks like work, and operators are
// parts of the category that they are below.
const INHERITED = /(^|\/)(idle|exited_threads|kernel_threads|other_processes)\/|on_cpu\/[^/]+\/|waiting\/[^/]+\//;

export function meaningOfRow(path) {
  const names = path.split("/");
  const own = INHERITED.exec(path);
  if (own) return meaningOfRow(path.slice(0, own.index + own[0].length - 1));
  while (names.length) {
    const meaning = meaningOf(names.pop());
    if (meaning) return meaning;
  }
  return "unknown";
}

export const rowColour = (path) => COLOURS[meaningOfRow(path)];

// Background and ink of an element in such a colour; idle time is hatched.
export function paint(meaning) {
  const colour = COLOURS[meaning];
  return meaning === "idle" ? { background: "var(--idle)", color: "var(--ink)" } : { background: colour, color: ink(colour) };
}

// Things without a meaning that must be distinguished: stages, operators, treatments, lines of a chart.
const CYCLE = ["#6068d0", "#c08020", "#107050", "#b83888", "#d0c850", "#7890f8", "#f8b0a0", "#189870", "#706000", "#10d0f0"];

export function cycled(index) {
  return CYCLE[index % CYCLE.length];
}

// How a frame's code was made; those of the static flame graph too (`crates/pyro-stacks/src/svg/palette.rs`).
export const KIND_COLOURS = {
  interpreted: "#e8e0a0", c1: "#90c0a0", c2: "#489870", inlined: "#98e8f8",
  native: "#d07028", cpp: "#b890f0", kernel: "#687880", python: "#f0c030", unknown: "#8f959b",
};

// Whose code a frame is.
export const CODE_COLOURS = { java: COLOURS.operator, generated: KIND_COLOURS.interpreted, native: KIND_COLOURS.native, kernel: COLOURS.kernel, gc: COLOURS.gc, jit: COLOURS.jit, python: COLOURS.python, unknown: NEUTRAL };

export const STATUS_COLOURS = { failed: "#cc3311", killed: COLOURS.unknown, running: "#33bbee" };

// On a dark page hot is bright, as in a furnace; on a light one it is dark.
const HEAT = ["#fbe3ad", "#f9c878", "#f2a24a", "#e0702a", "#b93f17", "#7f2312"];
const HEAT_DARK = ["#4a3524", "#7a3a1c", "#b4501d", "#e07a2f", "#f3ae5a", "#fbe0a6"];

// No colour for no CPU, so that an operator without CPU stays blank.
export function heat(share, onDark) {
  if (!(share > 0)) return null;
  const scale = onDark ? HEAT_DARK : HEAT;
  return scale[Math.min(scale.length - 1, Math.floor(Math.sqrt(share) * scale.length))];
}

// Black or white, whichever reads better on a colour (WCAG contrast).
const inks = new Map();

export function ink(colour) {
  let found = inks.get(colour);
  if (!found) {
    const channel = (at) => {
      const c = parseInt(colour.slice(at, at + 2), 16) / 255;
      return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    };
    const light = 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
    found = light > 0.22 ? "#15181b" : "#ffffff";
    inks.set(colour, found);
  }
  return found;
}

// A colour of the style sheet, for canvases.
export function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// A diverging scale (Paul Tol's sunset, colour-blind safe): blue took less time, red more.
export const LESS = ["#c2e4ef", "#98cae1", "#6ea6cd", "#364b9a"];
export const MORE = ["#feda8b", "#fdb366", "#f67e4b", "#a50026"];

// Where the colours change: three bounds of the series 1, 3, 10, … below the largest change.
export function bounds(most) {
  if (!(most > 0)) return [];
  const power = 10 ** Math.floor(Math.log10(most));
  return most >= 3 * power ? [(3 * power) / 10, power, 3 * power] : [power / 10, (3 * power) / 10, power];
}
