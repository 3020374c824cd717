// The series of the timeline as numbers: a table of means over equal parts of the time in view.
import { el, replace } from "../ui/dom.js";
import { unit } from "../ui/format.js";
import { table } from "../ui/table.js";
import { clock } from "../ui/time-axis.js";

const PARTS = 40;

// Means of a column of `step` ms over `parts` equal parts of [from, to); NaN where nothing was read.
export function means(data, step, from, to, parts) {
  const wide = (to - from) / parts;
  return Array.from({ length: parts }, (_, part) => {
    const [begin, end] = [from + part * wide, from + (part + 1) * wide];
    let [sum, whole] = [0, 0];
    for (let i = Math.max(0, Math.floor(begin / step)); i < data.length && i * step < end; i += 1) {
      const share = Math.min(end, (i + 1) * step) - Math.max(begin, i * step);
      if (share > 0 && !Number.isNaN(data[i])) [sum, whole] = [sum + data[i] * share, whole + share];
    }
    return whole ? sum / whole : NaN;
  });
}

// {element, update()}: a track's series in the time in view, at most `PARTS` rows of them.
export function numbers(timeline, columns, axis) {
  const tracks = timeline.tracks.filter((track) => track.kind === "series" || track.kind === "stack");
  if (!tracks.length) return null;
  const rows = el("div");
  const choice = el("select", { "data-name": "timeline-series", on: { change: update } }, tracks.map((track, index) => el("option", { value: index }, track.title)));
  const element = el("div", { id: "timeline-table", hidden: true }, el("p", { class: "controls" }, el("label", null, "Series of ", choice), el("span", { class: "aside" }, "Means over equal parts of the time in view.")), rows);

  function update() {
    if (element.hidden) return;
    const track = tracks[Number(choice.value) || 0];
    const parts = Math.max(1, Math.min(PARTS, Math.ceil((axis.to - axis.from) / timeline.step_ms)));
    const wide = (axis.to - axis.from) / parts;
    const limit = track.capacity;
    const series = [...track.series, ...(limit && typeof limit.value !== "number" ? [limit] : [])];
    const found = series.map(({ value }) => means(columns[value], timeline.step_ms, axis.from, axis.to, parts));
    const shown = Array.from({ length: parts }, (_, part) => ({ from: axis.from + part * wide, values: found.map((one) => (Number.isNaN(one[part]) ? null : one[part])) }));
    const named = track.unit === "CPUs" || track.unit === "/s" ? ` (${track.unit})` : "";
    replace(rows, table([
      { label: "From", value: (row) => row.from, show: (row) => clock(row.from, wide), number: true },
      ...series.map(({ label }, index) => ({ label: `${label}${named}`, value: (row) => row.values[index], show: (row) => unit(row.values[index], track.unit), number: true })),
      ...(limit && typeof limit.value === "number" ? [{ label: limit.label, value: () => limit.value, show: () => unit(limit.value, track.unit), number: true }] : []),
    ], shown, { caption: `${track.title}, ${parts} parts of ${clock(wide, Math.min(wide, 1000))}`, first: PARTS }));
  }

  return { element, update };
}
