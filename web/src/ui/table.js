// A sortable table. Columns: {label, value(row), show(row)?, number?, help?, class?}.
import { el, replace } from "./dom.js";
import { help } from "./tip.js";
import { count, NONE } from "./format.js";

const FIRST = 200;

export function table(columns, rows, { caption, sort = null, first = FIRST, empty = "None." } = {}) {
  if (!rows.length) return el("p", { class: "missing" }, empty);
  const state = { column: sort?.column ?? null, down: sort?.down ?? true, all: rows.length <= first };
  const body = el("tbody");
  const more = el("button", { type: "button", class: "more", on: { click: () => { state.all = true; draw(); } } });
  const heads = columns.map((column, index) => {
    const button = el("button", { type: "button", on: { click: () => sortBy(index) } }, column.label, el("span", { class: "arrow", "aria-hidden": "true" }));
    return el("th", { scope: "col", class: column.number ? "n" : null }, button, help(column.help));
  });

  function sortBy(index) {
    const same = state.column === index;
    state.down = same ? !state.down : Boolean(columns[index].number);
    state.column = index;
    draw();
  }

  function draw() {
    const ordered = state.column === null ? rows : sorted(rows, columns[state.column], state.down);
    heads.forEach((head, index) => {
      head.setAttribute("aria-sort", state.column !== index ? "none" : state.down ? "descending" : "ascending");
    });
    const shown = state.all ? ordered : ordered.slice(0, first);
    replace(body, shown.map((row) => el("tr", null, columns.map((column) => cell(column, row)))));
    more.hidden = state.all;
    more.textContent = `Show all ${count(rows.length)} rows`;
  }

  draw();
  return el("div", { class: "scroll" },
    el("table", { role: "grid" }, caption && el("caption", null, caption), el("thead", null, el("tr", null, heads)), body), more);
}

function cell(column, row) {
  const shown = column.show ? column.show(row) : column.value(row);
  return el("td", { class: [column.number ? "n" : null, column.class].filter(Boolean).join(" ") || null }, shown ?? NONE);
}

// Rows in order of a column; missing values last, whichever the direction.
export function sorted(rows, column, down) {
  const keyed = rows.map((row, place) => ({ row, place, key: column.value(row) ?? null }));
  keyed.sort((a, b) => {
    if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.place - b.place;
    const order = typeof a.key === "number" && typeof b.key === "number" ? a.key - b.key : String(a.key).localeCompare(String(b.key), "en", { numeric: true });
    return (down ? -order : order) || a.place - b.place;
  });
  return keyed.map(({ row }) => row);
}
