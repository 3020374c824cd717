// The time axis that all tracks share: the visible range in ms, and who redraws when it changes.

export function makeAxis(duration) {
  const listeners = [];
  const least = Math.min(1, duration / 1000);
  const axis = {
    duration,
    from: 0,
    to: duration,
    cursor: null,
    onChange: (listener) => listeners.push(listener),
    changed: () => listeners.forEach((listener) => listener()),
    // Show [from, to], kept inside the whole and no narrower than a thousandth of it (or 1 ms).
    set(from, to) {
      const width = Math.min(duration, Math.max(least, to - from));
      const middle = (from + to) / 2;
      const start = Math.min(duration - width, Math.max(0, middle - width / 2));
      axis.from = start;
      axis.to = start + width;
      axis.changed();
    },
    zoom(factor, at = (axis.from + axis.to) / 2) {
      axis.set(at - (at - axis.from) * factor, at + (axis.to - at) * factor);
    },
    pan(share) {
      const by = (axis.to - axis.from) * share;
      const start = Math.min(duration - (axis.to - axis.from), Math.max(0, axis.from + by));
      axis.set(start, start + (axis.to - axis.from));
    },
    reset: () => axis.set(0, duration),
    x: (ms, width) => ((ms - axis.from) / (axis.to - axis.from)) * width,
    at: (x, width) => axis.from + (x / width) * (axis.to - axis.from),
  };
  return axis;
}

// Round positions for labels, about one per 110 px: [{ms, label}].
export function ticks(from, to, width) {
  const wanted = (to - from) / Math.max(2, width / 110);
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5, 72e5, 216e5];
  const step = steps.find((candidate) => candidate >= wanted) ?? Math.ceil(wanted / 36e5) * 36e5;
  const found = [];
  for (let ms = Math.ceil(from / step) * step; ms <= to; ms += step) found.push({ ms, label: clock(ms, step) });
  return found;
}

// Time since the start in the precision that a step needs.
export function clock(ms, step = 1) {
  if (step >= 36e5) return `${Math.round(ms / 36e5)} h`;
  const seconds = ms / 1000;
  if (ms >= 6e4 && step >= 1e3) {
    const whole = Math.round(seconds);
    return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
  }
  const places = step >= 1000 ? 0 : step >= 100 ? 1 : step >= 10 ? 2 : 3;
  return `${seconds.toFixed(places)} s`;
}
