// Cells of the heat map: time and row of each, and what it weighs.
import { count, words } from "../ui/format.js";
import { groupName } from "./boxes.js";
import { heaviest, scaleFor, spread, touched } from "./times.js";

export const WITHIN = "within"; // rows are parts of a column's time
const MOST_ROWS = 24;
const NARROWEST = 3; // of a column, px

// The grid for facts `taken` (see `rowsOf`) and a width in px: rows are parts of a second, or values
// of dimension `by`.
export function makeGrid(model, times, taken, by, width, critical) {
  const most = Math.max(1, width / NARROWEST);
  return by === WITHIN ? parts(times, taken, critical, most) : values(model, times, taken, critical, by, most);
}

function parts(times, taken, critical, most) {
  const [columnMs, rowMs] = scaleFor(times, most);
  const duration = times.count * times.bucketMs;
  const rows = Math.round(columnMs / rowMs);
  const { cells } = spread(times, taken, 1, Math.round(rowMs / times.bucketMs), critical);
  const cell = ({ column, row }) => column * rows + row;
  return {
    within: true, columns: Math.ceil(duration / columnMs), rows, columnMs, cellMs: rowMs, most: heaviestOf(cells),
    at: (column, row) => cells[column * rows + row] ?? 0,
    // Time in ms from one cell to another, whichever way.
    range(a, b) {
      const [first, last] = [cell(a), cell(b)].sort((x, y) => x - y);
      return [first * rowMs, Math.min(duration, (last + 1) * rowMs)];
    },
    focus: () => null,
    // Parts of a second rise, as in FlameScope.
    line: (row) => rows - 1 - row,
    name: () => null,
    outline: (path, range, place) => stairs(path, place, rows, ...cellsOf(times, range, rowMs, rows)),
  };
}

function values(model, times, taken, critical, by, most) {
  const { rows, rowOf } = heaviest(model, taken, by, MOST_ROWS, critical);
  const per = Math.max(1, Math.ceil(times.count / most));
  const duration = times.count * times.bucketMs;
  const cellMs = per * times.bucketMs;
  const { cells, columns } = spread(times, rowOf, Math.max(1, rows.length), per, critical);
  return {
    within: false, columns, rows: Math.max(1, rows.length), columnMs: cellMs, cellMs, most: heaviestOf(cells),
    at: (column, row) => cells[row * columns + column],
    range: (a, b) => [Math.min(a.column, b.column) * cellMs, Math.min(duration, (Math.max(a.column, b.column) + 1) * cellMs)],
    // What a selection of some of the rows is restricted to.
    focus(a, b) {
      const [first, last] = [a.row, b.row].sort((x, y) => x - y);
      const chosen = rows.slice(first, last + 1).flat();
      if (chosen.length === rows.flat().length) return null;
      return [{ [by]: chosen.map((index) => model.meta.dimensions[by][index]) }];
    },
    line: (row) => row,
    name: (row) => (!rows[row] ? "" : rows[row].length === 1 ? words(groupName(model, by, rows[row][0])) : `${count(rows[row].length)} others`),
    outline(path, range, { x, y, w, h }) {
      const [from, to] = touched(times, range).map((bucket) => bucket * times.bucketMs);
      path.rect(x + (from / (columns * cellMs)) * w, y, Math.max(1, ((to - from) / (columns * cellMs)) * w), h);
    },
  };
}

function heaviestOf(cells) {
  let most = 0;
  for (const weight of cells) if (weight > most) most = weight;
  return most;
}

// First and last cell that a range of ms touches.
function cellsOf(times, range, cellMs, rows) {
  const [from, to] = touched(times, range).map((bucket) => bucket * times.bucketMs);
  return [Math.floor(from / cellMs + 1e-6), Math.max(0, Math.ceil(to / cellMs - 1e-6) - 1)].map((cell) => ({ column: Math.floor(cell / rows), row: cell % rows }));
}

// The outline of time that goes up one column after the other.
function stairs(path, { x, y, h, tall, wide }, rows, a, b) {
  const left = (column) => x + column * wide;
  const lower = (row) => y + (rows - row) * tall;
  if (a.column === b.column) path.rect(left(a.column), lower(b.row + 1), wide, (b.row - a.row + 1) * tall);
  else if (b.column === a.column + 1 && b.row < a.row) {
    path.rect(left(a.column), y, wide, lower(a.row) - y);
    path.rect(left(b.column), lower(b.row + 1), wide, y + h - lower(b.row + 1));
  } else {
    const corners = [[a.column, a.row], [a.column, rows], [b.column, rows], [b.column, b.row + 1], [b.column + 1, b.row + 1], [b.column + 1, 0], [a.column + 1, 0], [a.column + 1, a.row]];
    corners.forEach(([column, row], i) => (i ? path.lineTo(left(column), lower(row)) : path.moveTo(left(column), lower(row))));
    path.closePath();
  }
}
