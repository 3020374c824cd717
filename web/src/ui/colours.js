// One colour scale for the whole page. Hues follow Paul Tol's colour-blind safe schemes; a colour
// never stands alone: its name is always next to it or under the pointer.

// What CPU was spent on, thread roles and rows of the ledger share names and so share colours.
const NAMED = [
  [/unclassified|unmapped|unknown|unsplit/, "#a9adb3"],
  [/^idle|no task|driver only/, "#c9ced6"],
  [/decompress/, "#77aadd"],
  [/^compress/, "#5588bb"],
  [/encode/, "#336688"],
  [/decode|parquet|scan/, "#4477aa"],
  [/^cast|conversion/, "#ee7733"],
  [/codegen/, "#c9a27a"],
  [/scheduler delay/, "#8c6d3f"],
  [/scheduler/, "#a0a878"],
  [/expression/, "#44aa99"],
  [/operator/, "#228833"],
  [/hash|aggregat/, "#bbaa33"],
  [/sort/, "#997700"],
  [/shuffle.*read|fetch/, "#cc6699"],
  [/shuffle/, "#aa3377"],
  [/serial/, "#882255"],
  [/spill/, "#994455"],
  [/python/, "#33bbee"],
  [/udf/, "#009988"],
  [/memory|alloc/, "#9970ab"],
  [/^gc|garbage|pause|safepoint/, "#cc3311"],
  [/jit|compil/, "#dcb8a4"],
  [/steal/, "#8a5a78"],
  [/run queue|runnable|delay/, "#ddaa77"],
  [/block io|disk|iowait|io wait|^io$/, "#2f6f6f"],
  [/network/, "#5f9ea0"],
  [/kernel|system|irq/, "#7a8087"],
  [/pyrometer/, "#5577aa"],
  [/helper/, "#66ccbb"],
  [/driver/, "#6699cc"],
  [/other process/, "#8f8a7f"],
  [/^vm|other jvm/, "#b09f84"],
  [/task|user|on cpu|running/, "#2f7f6f"],
  [/wait|lock|park|sleep/, "#b8a6d0"],
  [/other/, "#9aa09a"],
];

const CYCLE = ["#4477aa", "#ee7733", "#228833", "#aa3377", "#66ccee", "#bbaa33", "#882255", "#44aa99", "#999933", "#6699cc"];

export const KIND_COLOURS = {
  interpreted: "#d9c36a", c1: "#9fc08b", c2: "#5fa877", inlined: "#7fc4bd",
  native: "#c9806f", cpp: "#d6a760", kernel: "#8f9aa8", python: "#66ccee", unknown: "#b5b5b5",
};

export const STATUS_COLOURS = { failed: "#cc3311", killed: "#8f8a7f", running: "#33bbee" };
export const NEUTRAL = "#a9adb3";

export function named(name) {
  const text = String(name ?? "unknown").toLowerCase().replace(/[_-]+/g, " ");
  for (const [pattern, colour] of NAMED) if (pattern.test(text)) return colour;
  let hash = 0;
  for (const char of text) hash = (hash * 31 + char.codePointAt(0)) >>> 0;
  return CYCLE[hash % CYCLE.length];
}

export function cycled(index) {
  return CYCLE[index % CYCLE.length];
}

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
