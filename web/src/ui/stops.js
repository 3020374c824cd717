// One Tab stop for each table, toolbar and section; arrow keys move inside it (roving tabindex, as in
// the ARIA Authoring Practices). What takes arrow keys itself stays a stop of its own: fields, plots,
// lists, canvases; the tracks of a timeline share one, and ↑ ↓ move between them.

const WIDGETS = "a[href], button, summary, [tabindex]";
const OWN = "input, select, textarea, [role=listbox], [role=application], svg [tabindex], main";
const GROUPS = "table, nav, .controls, .parts, .timeline, section, main, header, body";

const adopted = new WeakSet();
const stops = new WeakMap(); // of a group: what Tab reaches

const isTrack = (node) => node.tagName === "CANVAS";
const isRow = (node) => node.tagName === "TR";
const shown = (node) => !node.disabled && (node.checkVisibility?.() ?? node.getClientRects().length > 0);
const isStop = (node) => !node.matches(OWN) && (adopted.has(node) || node.tabIndex >= 0) && (!isTrack(node) || node.closest(".timeline"));
const groupOf = (node) => (isTrack(node) ? node.closest(".timeline") : node.closest(GROUPS));

// Parts of a group in order, those of groups inside it left out.
function partsOf(group) {
  const parts = [...group.querySelectorAll(WIDGETS)].filter((node) => isStop(node) && groupOf(node) === group && shown(node));
  // Of a tree whose rows take the focus, only rows are stops.
  return group.matches("[role=treegrid]") ? parts.filter(isRow) : parts;
}

function settle(group) {
  const kinds = group.matches(".timeline") ? [isTrack, (node) => !isTrack(node)] : [() => true];
  const known = stops.get(group) ?? [];
  stops.set(group, kinds.map((kind, at) => {
    const parts = partsOf(group).filter(kind);
    const stop = parts.includes(known[at]) || known[at]?.matches?.("td, th") && group.contains(known[at]) ? known[at] : parts[0];
    for (const part of parts) {
      adopted.add(part);
      part.tabIndex = part === stop ? 0 : -1;
    }
    return stop;
  }));
}

// Makes `node` what Tab reaches of its group.
function choose(group, node) {
  const known = stops.get(group) ?? [];
  const at = isTrack(node) || known.length < 2 ? 0 : 1;
  if (known[at] && known[at] !== node) known[at].tabIndex = -1;
  adopted.add(node);
  node.tabIndex = 0;
  known[at] = node;
  stops.set(group, known);
}

const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

function inList(parts, from, key) {
  const at = parts.indexOf(from);
  if (key === "Home") return parts[0];
  if (key === "End") return parts.at(-1);
  return parts[at + STEPS[key]];
}

// Stops of a row: its cells, or what is in them.
const cellsOf = (row) => [...row.cells].map((cell) => {
  const inside = [...cell.querySelectorAll(WIDGETS)].filter((node) => isStop(node) && shown(node));
  return inside.length ? inside : [cell];
});

function inGrid(table, from, key) {
  const cell = from.closest("td, th");
  const rows = [...table.rows].filter(shown);
  const cells = cellsOf(cell.parentElement);
  if (key === "ArrowUp" || key === "ArrowDown") {
    const row = rows[rows.indexOf(cell.parentElement) + STEPS[key]];
    return row && cellsOf(row)[Math.min(cell.cellIndex, row.cells.length - 1)][0];
  }
  return inList(cells.flat(), from, key);
}

function next(group, from, key) {
  if (isTrack(from)) return key === "ArrowUp" || key === "ArrowDown" ? inList(partsOf(group).filter(isTrack), from, key) : null;
  if (isRow(from)) return inList(partsOf(group), from, key);
  if (group.tagName === "TABLE" && from.closest("td, th")) return inGrid(group, from, key);
  return inList(partsOf(group).filter((node) => !isTrack(node)), from, key);
}

function onKey(event) {
  if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (!(event.key in STEPS || event.key === "Home" || event.key === "End")) return;
  const from = event.target;
  if (!adopted.has(from)) return;
  const group = groupOf(from);
  const to = next(group, from, event.key);
  if (!to || to === from) return;
  event.preventDefault();
  choose(group, to);
  to.focus();
}

// Keeps one stop a group below `root`, whatever sections put there later.
export function keepStops(root) {
  const waiting = new Set();
  const settleAll = () => {
    waiting.forEach((group) => group.isConnected && settle(group));
    waiting.clear();
  };
  const later = (node) => {
    if (node.nodeType !== Node.ELEMENT_NODE || node.closest("#tip")) return;
    if (!waiting.size) requestAnimationFrame(settleAll);
    // What is new may hold groups; what was there belongs to one.
    waiting.add(node.closest(GROUPS));
    node.querySelectorAll(GROUPS).forEach((group) => waiting.add(group));
  };
  root.addEventListener("keydown", onKey);
  root.addEventListener("focusin", ({ target }) => { if (adopted.has(target)) choose(groupOf(target), target); });
  new MutationObserver((changes) => {
    for (const { type, target, addedNodes } of changes) {
      if (type === "attributes") later(target);
      else if (addedNodes.length) later(target);
    }
  }).observe(root, { childList: true, subtree: true, attributes: true, attributeFilter: ["hidden", "open", "disabled"] });
  later(root);
}
