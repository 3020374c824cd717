// A heat map on a canvas: cells, axes and legend, whatever the cells count.
import { css, heat } from "./colours.js";
import { el, replace } from "./dom.js";
import { time, unit } from "./format.js";
import { dark } from "./theme.js";
import { ticks } from "./time-axis.js";

export const GUTTER = 132; // for names of rows, px
const [TOP, BOTTOM, TALL] = [16, 20, 200];
const LEVELS = 6;

// Positions of the cells of a grid on a canvas of this width.
export function placeOf(grid, width) {
  const tall = grid.within ? Math.max(3, Math.floor(TALL / grid.rows)) : 16;
  const w = Math.max(1, width - GUTTER - 1);
  return { x: GUTTER, y: TOP, w, h: grid.rows * tall, tall, wide: w / grid.columns };
}

// One colour per level; a level ends where the root of its share of the heaviest cell does.
const palette = () => Array.from({ length: LEVELS }, (_, level) => heat(((level + 0.5) / LEVELS) ** 2, dark()));
const levelOf = (share) => Math.min(LEVELS - 1, Math.floor(Math.sqrt(share) * LEVELS));

// The cells as a picture of one pixel each.
export function coloured(grid, image) {
  const rgb = palette().map((text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)));
  image.width = grid.columns;
  image.height = grid.rows;
  const ctx = image.getContext("2d");
  const pixels = ctx.createImageData(grid.columns, grid.rows);
  for (let row = 0; row < grid.rows; row += 1) {
    for (let column = 0; column < grid.columns; column += 1) {
      const weight = grid.at(column, row);
      if (!(weight > 0)) continue;
      const place = (grid.line(row) * grid.columns + column) * 4;
      pixels.data.set(rgb[levelOf(weight / grid.most)], place);
      pixels.data[place + 3] = 255;
    }
  }
  ctx.putImageData(pixels, 0, 0);
}

export function scaleLegend(legend, grid, unitName) {
  const swatch = (fill, text) => el("span", null, el("i", { class: "swatch", style: { background: fill } }), text);
  replace(legend, swatch(css("--panel-2"), "nothing"),
    grid.most > 0 && palette().map((fill, level) => swatch(fill, `to ${unit(grid.most * ((level + 1) / LEVELS) ** 2, unitName)}`)),
    el("span", { class: "aside" }, `per ${time(grid.cellMs * 1e6)}${grid.within ? "" : " and row"}`));
}

// `cursor` is a cell to be framed, `ranges` what is selected.
export function paintHeat(canvas, { grid, image, marks, ranges, cursor }) {
  const place = placeOf(grid, canvas.clientWidth);
  const { x, y, w, h, tall, wide } = place;
  const height = y + h + BOTTOM;
  const ratio = devicePixelRatio || 1;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(canvas.clientWidth * ratio);
  canvas.height = Math.round(height * ratio);
  const ctx = canvas.getContext("2d");
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.font = `11px ${css("--sans")}`;
  ctx.textBaseline = "middle";
  ctx.fillStyle = css("--panel-2");
  ctx.fillRect(x, y, w, h);
  ctx.imageSmoothingEnabled = false;
  ctx.drawImage(image, x, y, w, h);
  edges(ctx, grid, marks, place);
  if (ranges.length) {
    const chosen = new Path2D();
    ranges.forEach((range) => grid.outline(chosen, range, place));
    const rest = new Path2D(chosen);
    rest.rect(x, y, w, h);
    ctx.fillStyle = css("--veil");
    ctx.fill(rest, "evenodd");
    ctx.strokeStyle = css("--accent");
    ctx.lineWidth = 1.5;
    ctx.stroke(chosen);
  }
  if (cursor) {
    ctx.strokeStyle = css("--ink");
    ctx.lineWidth = 2;
    ctx.strokeRect(x + cursor.column * wide - 1, y + grid.line(cursor.row) * tall - 1, wide + 2, tall + 2);
  }
}

// Iterations above, time below, names of rows at the left.
function edges(ctx, grid, marks, { x, y, w, h, tall }) {
  const whole = grid.columns * grid.columnMs;
  const at = (ms) => x + (ms / whole) * w;
  for (const mark of marks) {
    const [from, to] = [at(mark.start_ms), at(Math.min(whole, mark.end_ms))];
    ctx.fillStyle = css("--rail");
    ctx.fillRect(from, 0, 1, y);
    ctx.fillRect(to, 0, 1, y);
    ctx.fillStyle = css("--ink-dim");
    if (to - from > 16) ctx.fillText(`${mark.warmup ? "warm-up " : to - from > 80 ? "iteration " : ""}${mark.iteration}`, from + 4, 8, to - from - 6);
  }
  ctx.fillStyle = css("--ink-dim");
  for (const tick of ticks(0, whole, w)) ctx.fillText(tick.label, Math.min(at(tick.ms) + 2, x + w - 40), y + h + 11);
  ctx.textAlign = "right";
  if (grid.within) {
    for (const share of [0, 0.5, 1]) ctx.fillText(share ? time(grid.columnMs * 1e6 * share) : "0", x - 6, y + h - share * (h - 10) - 5);
  } else for (let row = 0; row < grid.rows; row += 1) ctx.fillText(grid.name(row), x - 6, y + (row + 0.5) * tall, GUTTER - 10);
  ctx.textAlign = "left";
}
