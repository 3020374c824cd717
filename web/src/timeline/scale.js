// The value axis of a track: round values with their unit, and what there is at most as a labelled line.
import { css } from "../ui/colours.js";
import { unit } from "../ui/format.js";
import { steps } from "../ui/plot.js";

const ROOM = 1.07; // above the largest value, so that a line at it is seen

// A capacity: one value, or a column of them. Null where there is none.
export function capacityOf(capacity, columns) {
  if (!capacity) return null;
  const data = typeof capacity.value === "number" ? null : columns[capacity.value];
  const at = (i) => (data ? data[i] : capacity.value);
  const most = data ? data.reduce((top, value) => (value > top ? value : top), 0) : capacity.value;
  return { label: capacity.label, at, most };
}

// Where the axis ends for the largest value drawn.
export const topOf = (most, capacity) => Math.max(most, capacity?.most ?? 0) * ROOM || 1;

// A value as the axis has it: the unit stands with it.
export const valued = (value, name) => (name === "CPUs" ? `${Number(value.toFixed(2))} CPU${value === 1 ? "" : "s"}` : name === "count" ? String(Number(value.toFixed(2))) : unit(value, name));

// Lines at round values behind the series; gives the values.
export function gridLines(ctx, width, height, top, y) {
  const values = steps(0, top, Math.max(1, Math.floor(height / 34))).filter((value) => value > 0 && value < top);
  ctx.fillStyle = css("--grid");
  for (const value of values) ctx.fillRect(0, Math.round(y(value)), width, 1);
  return values;
}

// The values beside their lines, over the series so that they can be read.
export function gridLabels(ctx, values, name, y) {
  for (const value of values) plate(ctx, valued(value, name), 3, y(value) - 3, css("--ink-dim"));
}

// The capacity as a dashed line with its name at the right.
export function capacityLine(ctx, capacity, first, last, x, y, width) {
  if (!capacity) return;
  ctx.strokeStyle = css("--ink");
  ctx.setLineDash([5, 3]);
  ctx.beginPath();
  let pen = false;
  for (let i = first; i <= last; i += 1) {
    const value = capacity.at(i);
    if (!Number.isFinite(value)) pen = false;
    else {
      if (pen) ctx.lineTo(x(i), y(value));
      else ctx.moveTo(x(i), y(value));
      pen = true;
    }
  }
  ctx.stroke();
  ctx.setLineDash([]);
  const text = capacity.label;
  plate(ctx, text, width - ctx.measureText(text).width - 4, y(capacity.most) + 12, css("--ink"));
}

// Text on a plate in the colour of the page.
export function plate(ctx, text, x, y, colour) {
  ctx.fillStyle = css("--panel");
  ctx.globalAlpha = 0.75;
  ctx.fillRect(x - 2, y - 10, ctx.measureText(text).width + 4, 13);
  ctx.globalAlpha = 1;
  ctx.fillStyle = colour;
  ctx.fillText(text, x, y);
}
