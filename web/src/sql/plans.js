// SQL executions: the final plan as a tree with time, rows and bytes per operator.
import { css, heat } from "../ui/colours.js";
import { el, missing, replace, section, svg } from "../ui/dom.js";
import { bytes, callSite, percent, short, time } from "../ui/format.js";
import { dark, onTheme } from "../ui/theme.js";
import { details, find } from "./operator.js";

const ROW = 28;
const STEP = 16;
const MEASURES = {
  cpu: { name: "CPU", title: "CPU of tasks", of: (node) => (node.python_cpu_ns ? (node.on_cpu_ns ?? 0) + node.python_cpu_ns : node.on_cpu_ns) },
  wait: { name: "Waiting", title: "Tasks waiting", of: (node) => node.off_cpu_ns },
};

export function plansSection(summary, cuts) {
  const text = "The final plan, output at the top, data flowing upwards. Hotter colours mean more CPU time, or longer waits. Select an operator for its expressions and metrics.";
  const list = summary.sql ?? [];
  if (!list.length) return section("plans", "SQL plans", text, missing("The application ran no SQL (RDDs only), or the event log has no SQL events."));
  const several = new Set(list.map((item) => item.app_index)).size > 1;
  const measured = new Set(summary.window?.iterations ?? []);
  const first = [...list].sort((a, b) => measured.has(b.iteration) - measured.has(a.iteration) || (b.duration_ns ?? 0) - (a.duration_ns ?? 0))[0];
  const sampled = new Map((summary.operators ?? []).map((item) => [key(item.app_index, item.sql_id, item.node_id), item]));
  const view = el("div");
  let execution = first;
  let measure = "cpu";
  const draw = () => replace(view, plan(execution, MEASURES[measure], sampled));
  const hue = el("select", { id: "plan-hue", on: { change: () => { measure = hue.value; draw(); } } },
    Object.entries(MEASURES).map(([value, { name }]) => el("option", { value }, name)));
  const coloured = list.some((item) => (item.nodes ?? []).some((node) => node.samples_count));
  const pick = el("select", { id: "plan-pick", on: { change: () => { execution = list[Number(pick.value)]; draw(); } } },
    list.map((item, index) => el("option", { value: index, selected: item === first }, label(item, several))));
  draw();
  const cut = (cuts ?? []).find((line) => line.startsWith("plans:"));
  return section("plans", "SQL plans", text, cut && el("p", { class: "note" }, `Shown: ${cut.slice(7)}.`),
    el("p", { class: "controls" }, el("label", { for: "plan-pick" }, "Execution "), pick, coloured && [el("label", { for: "plan-hue" }, " Colour by "), hue]), view);
}

function key(...parts) {
  return parts.join("/");
}

function label(item, several) {
  const parts = [`${several ? `app ${item.app_index} · ` : ""}SQL ${item.sql_id}`, item.iteration === null || item.iteration === undefined ? null : `iteration ${item.iteration}`, time(item.duration_ns), callSite(item.description ?? "").slice(0, 90), item.error ? "failed" : null];
  return parts.filter(Boolean).join(" · ");
}

// Column of each node: the last child goes on below its parent, earlier ones stand one step right.
export function rails(nodes) {
  const children = new Map();
  for (const node of nodes) if (node.parent_node_id !== null && node.parent_node_id !== undefined) (children.get(node.parent_node_id) ?? children.set(node.parent_node_id, []).get(node.parent_node_id)).push(node.node_id);
  const column = new Map();
  for (const node of nodes) {
    const siblings = children.get(node.parent_node_id);
    const base = column.get(node.parent_node_id) ?? 0;
    column.set(node.node_id, siblings && siblings.at(-1) !== node.node_id ? base + 1 : base);
  }
  return column;
}

function plan(execution, measure, sampled) {
  const nodes = execution.nodes ?? [];
  if (!nodes.length) return missing(execution.nodes_cut ? "This plan was omitted to keep the page small: see `pyrometer show RUN --json`." : "The event log has no plan of this execution.");
  const whole = nodes.reduce((sum, node) => sum + (measure.of(node) ?? 0), 0);
  const timed = nodes.some((node) => node.samples_count !== null && node.samples_count !== undefined);
  const column = rails(nodes);
  const place = new Map(nodes.map((node, index) => [node.node_id, index]));
  const wide = (Math.max(...column.values()) + 1) * STEP + 18;
  const detail = el("aside", { class: "detail", "aria-live": "polite" });
  const rowsBox = el("div", { class: "plan-rows", role: "listbox", "aria-label": "Operators of the plan", tabindex: "0" });
  const x = (node) => column.get(node.node_id) * STEP + 10;
  const y = (node) => place.get(node.node_id) * ROW + ROW / 2;
  const share = (node) => (whole ? (measure.of(node) ?? 0) / whole : 0);

  const drawing = svg("svg", { width: wide, height: nodes.length * ROW, class: "rails", "aria-hidden": "true" });
  const draw = () => replace(drawing,
    nodes.filter((node) => place.has(node.parent_node_id)).map((node) => {
      const parent = nodes[place.get(node.parent_node_id)];
      const [x1, y1, x2, y2] = [x(parent), y(parent), x(node), y(node)];
      return svg("path", { d: x1 === x2 ? `M${x1} ${y1}V${y2}` : `M${x1} ${y1}Q${x2} ${y1} ${x2} ${Math.min(y2, y1 + ROW / 2)}V${y2}`, fill: "none", stroke: css("--rail"), "stroke-width": 2 });
    }),
    nodes.map((node) => svg("circle", { cx: x(node), cy: y(node), r: 5.5, fill: (timed && heat(share(node), dark())) || css("--panel"), stroke: css("--ink-dim"), "stroke-width": 1 })));
  const rows = nodes.map((node) => {
    const args = argument(node);
    return el("div", { class: "plan-row", role: "option", id: `op-${execution.app_index}-${execution.sql_id}-${node.node_id}`, "aria-selected": "false", on: { click: () => select(node) } },
      el("span", { class: "op", style: { "padding-left": `${wide}px` } }, el("b", null, node.name), node.codegen_stage_id ? el("span", { class: "gen", title: "Whole-stage code generation" }, `*${node.codegen_stage_id}`) : null, args && el("span", { class: "args" }, args)),
      timed && el("span", { class: "cell cpu" }, measure.of(node) > 0 ? [el("span", { class: "track" }, el("span", { class: "fill", style: { width: `${share(node) * 100}%` } })), el("span", null, time(measure.of(node))), el("span", { class: "dim" }, percent(share(node)))] : [el("span"), "–", el("span")]),
      el("span", { class: "cell" }, short(outputRows(node))),
      ...[size(node), find(node, /^spill size$/)?.value_sum].map((n) => el("span", { class: "cell" }, n === null || n === undefined ? "–" : bytes(n))),
      el("span", { class: "cell stages" }, (node.stage_ids ?? []).join(", ") || "–"));
  });

  function select(node) {
    rows.forEach((row, index) => row.setAttribute("aria-selected", String(nodes[index] === node)));
    rowsBox.setAttribute("aria-activedescendant", rows[place.get(node.node_id)].id);
    replace(detail, details(node, sampled.get(key(execution.app_index, execution.sql_id, node.node_id)), nodes));
    selected = place.get(node.node_id);
  }

  const weight = timed && whole ? (node) => measure.of(node) ?? 0 : (node) => outputRows(node) ?? 0;
  let selected = nodes.reduce((best, node, index) => (weight(node) > weight(nodes[best]) ? index : best), 0);
  rowsBox.addEventListener("keydown", (event) => {
    const move = { ArrowDown: 1, ArrowUp: -1, Home: -nodes.length, End: nodes.length }[event.key];
    if (!move) return;
    event.preventDefault();
    select(nodes[Math.min(nodes.length - 1, Math.max(0, selected + move))]);
    rows[selected].scrollIntoView({ block: "nearest" });
  });
  const recolour = () => {
    draw();
    rows.forEach((row, index) => row.querySelector(".cpu .fill")?.style.setProperty("background", heat(share(nodes[index]), dark())));
  };
  recolour();
  onTheme(recolour);
  rowsBox.append(drawing, ...rows);
  select(nodes[selected]);
  return el("div", { class: "plan" },
    el("div", { class: timed ? "plan-main" : "plan-main untimed" },
      execution.error && el("p", { class: "bad" }, execution.error),
      !timed && el("p", { class: "note" }, "Time per operator needs profiler samples, which this run does not have. Spark's own metrics are shown."),
      el("div", { class: "plan-row plan-head", "aria-hidden": "true" }, el("span", { class: "op" }, "Operator"), timed && el("span", { class: "cell" }, measure.title), el("span", { class: "cell" }, "Rows out"), el("span", { class: "cell" }, "Bytes"), el("span", { class: "cell" }, "Spill"), el("span", { class: "cell stages" }, "Stages")),
      rowsBox),
    detail);
}

function argument(node) {
  const text = (node.simple_string ?? "").replace(/\s+/g, " ");
  const rest = text.startsWith(node.name) ? text.slice(node.name.length).trim() : text;
  return rest.slice(0, 220);
}

function outputRows(node) {
  return find(node, /^number of output rows$|^records read$|^shuffle records written$/)?.value_sum ?? null;
}

function size(node) {
  return find(node, /^size of files read$|^shuffle bytes written$|^data size$|^written output$/)?.value_sum ?? null;
}
