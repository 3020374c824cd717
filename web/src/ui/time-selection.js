// The time that is selected, shared by timeline, heat map and flame graph: ranges in ms on the run's
// axis, and what it is restricted to (a task, a stage, some threads), if to anything.

export function makeSelection() {
  const listeners = [];
  const selection = {
    ranges: [],
    // Restrictions {dimension: values}, the best first: another run's samples may not distinguish tasks.
    focus: null,
    get empty() { return selection.ranges.length === 0; },
    onChange: (listener) => listeners.push(listener),
    set(ranges, focus = null) {
      selection.ranges = merged(ranges);
      selection.focus = selection.ranges.length ? focus : null;
      listeners.forEach((listener) => listener());
    },
    // Adds a range; what the others were restricted to no longer holds.
    add: (range) => selection.set([...selection.ranges, range]),
    clear: () => selection.set([]),
    // The first restriction that the samples' dimensions can express, or null.
    restriction: (dimensions) => selection.focus?.find((one) => Object.keys(one).every((name) => Array.isArray(dimensions[name]) && dimensions[name].some((value) => value !== null))) ?? null,
    // The same as filters of a query: indices of values.
    filters(dimensions) {
      const chosen = Object.entries(selection.restriction(dimensions) ?? {});
      return Object.fromEntries(chosen.map(([name, values]) => [name, values.map((value) => dimensions[name].indexOf(value)).filter((index) => index >= 0)]));
    },
  };
  return selection;
}

// A restriction in words: "task 7".
export function labelOf(restriction) {
  return Object.entries(restriction ?? {}).map(([name, values]) => (values.length === 1 ? `${name} ${values[0] ?? "unknown"}` : `${values.length} values of ${name}`)).join(", ");
}

// Ranges in order, those that touch as one, empty ones left out.
export function merged(ranges) {
  const found = [];
  for (const [from, to] of [...ranges].filter(([a, b]) => b > a).sort((a, b) => a[0] - b[0])) {
    const last = found.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else found.push([from, to]);
  }
  return found;
}

// Ranges as text of an address, in seconds, and back; what is no range is left out.
export function rangesToText(ranges) {
  const seconds = (ms) => String(Math.round(ms * 1e3) / 1e6);
  return ranges.map(([from, to]) => `${seconds(from)}-${seconds(to)}`).join(",");
}

export function rangesFromText(text) {
  return merged((text ?? "").split(",").map((part) => /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(part)).filter(Boolean).map((match) => [Number(match[1]) * 1e3, Number(match[2]) * 1e3]));
}
