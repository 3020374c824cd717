// The ledgers of stages, operators and tasks as objects, and the position of the drill-down as the
// part of an address after "#". No element is created here.

const START = "#ledger?";

// Rows as the summary has them: the page holds them as short lists, parents follow from paths.
export function viewOf(packed, walk) {
  const rows = packed.rows.map((list) => {
    const row = Object.fromEntries(walk.columns.map((name, at) => [name, list[at]]));
    row.method = walk.methods[row.method];
    const cut = row.path.lastIndexOf("/");
    row.parent = cut < 0 ? null : row.path.slice(0, cut);
    return row;
  });
  return { ...packed, rows, ended_by: packed.ended_by?.map(([path, value_ns, n]) => ({ path, value_ns, n })) };
}

// The listed tasks of a stage by their time in one operator, longest first; those without any are left out.
export function tasksOf(below, operator) {
  const found = below.tasks.map((task) => {
    const rows = task.operators?.[operator] ?? [];
    return { ...task, view: { rows, total_ns: rows.reduce((sum, [, value]) => sum + (value ?? 0), 0) } };
  });
  return found.filter((task) => task.view.total_ns > 0).sort((a, b) => b.view.total_ns - a.view.total_ns);
}

// Parts of a bar: rows without children down to `depth` levels, so that none counts twice.
export function segments(rows, depth = 2) {
  const level = (row) => row.path.split("/").length;
  const found = [];
  const visit = (row) => {
    const children = level(row) < depth ? rows.filter((other) => other.parent === row.path && other.value_ns > 0) : [];
    if (!children.length) {
      if (row.value_ns > 0) found.push({ path: row.path, name: row.path.slice(row.path.lastIndexOf("/") + 1), value: row.value_ns, row });
      return;
    }
    children.forEach(visit);
  };
  rows.filter((row) => row.parent === null).forEach(visit);
  return found;
}

export const stageKey = (part) => `${part.app_index ?? ""}:${part.stage_id}.${part.stage_attempt ?? 0}`;

// The operators and tasks of a stage; undefined for one that cannot be opened.
export function belowOf(walk, key) {
  return walk.below.find((below) => stageKey(below) === key);
}

// A position: {stage, what, operator, task}; `what` is "operators", "tasks" or "slowest".
const STEPS = ["stage", "what", "operator", "task"];
export const TOP = Object.fromEntries(STEPS.map((name) => [name, null]));

export function toLink(at) {
  const words = new URLSearchParams();
  for (const name of STEPS) if (at[name] !== null && at[name] !== undefined) words.set(name, at[name]);
  return START + words;
}

// Null for an address without a position; what does not fit the data is left out.
export function fromLink(hash, walk) {
  if (!hash.startsWith(START)) return null;
  const words = new URLSearchParams(hash.slice(START.length));
  const below = belowOf(walk, words.get("stage"));
  if (!below) return TOP;
  const what = ["operators", "tasks", "slowest"].includes(words.get("what")) ? words.get("what") : "tasks";
  const task = below.tasks.find((group) => String(group.task_attempt_id) === words.get("task"));
  const operator = what === "operators" && below.operators?.find((group) => group.label === words.get("operator"));
  return { stage: words.get("stage"), what: what === "slowest" && !below.slowest ? "tasks" : what, operator: operator ? operator.label : null, task: task ? task.task_attempt_id : null };
}
