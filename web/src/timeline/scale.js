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
  return { label: capacity.label, at, most, constant: !data };
}

// Where the axis ends for the largest value drawn.
export const topOf = (most, capacity) => Math.max(most, capacity?.most ?? 0) * ROOM || 1;

// A value as the axis has it: the unit stands with it.
export const valued = (value, name) => (name === "CPUs" ? `${Number(value.toFixed(2))} CPU${value === 1 ? "" : "s"}` : name === "count" ? String(Number(value.toFixed(2))) : unit(value, name));

// Round values above 0 and below `top`, about `wanted` of them and at least one; bytes are round in binary units.
export function rounds(top, wanted, name) {
  for (let parts = Math.max(1, wanted); parts < 100; parts += 1) {
    const step = name?.startsWith("bytes") ? 2 ** Math.ceil(Math.log2(top / parts)) : null;
    const values = step ? Array.from({ length: Math.floor(top / step) }, (_, index) => (index + 1) * step) : steps(0, top, parts);
    const inside = values.filter((value) => value > 0 && value < top);
    if (inside.length) return inside;
  }
  return [];
}

// Lines at round values behind the series; gives the values.
export function gridLines(ctx, width, height, top, name, y) {
  const values = rounds(top, Math.floor(height / 34), name);
  ctx.fillStyle = css("--grid");
  for (const value of values) ctx.fillRect(0, Math.round(y(value)), width, 1);
  return values;
}

// The values beside their lines, over the series so that they can be read; below a line that has no room above.
export function gridLabels(ctx, values, name, y) {
  for (const value of values) plate(ctx, valued(value, name), 3, y(value) < 14 ? y(value) + 12 : y(value) - 3, css("--ink-dim"));
}

// The capacity as a dashed line with its name at the right.
export function capacityLine(ctx, capacity, first, last, x, y, width, name) {
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
  const text = capacity.constant && name === "bytes" ? `${capacity.label}: ${unit(capacity.most, name)}` : capacity.label;
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
