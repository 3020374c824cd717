// SQL executions: the final plan as a tree with time, rows and bytes per operator.
import { css, heat } from "../ui/colours.js";
import { el, missing, replace, section, svg } from "../ui/dom.js";
import { bytes, callSite, percent, short, time } from "../ui/format.js";
import { dark, onTheme } from "../ui/theme.js";
import { fold, frames, isCluster } from "./fold.js";
import { available, factor, growth, MEASURES, outputRows, sharer, size, spilled } from "./measures.js";
import { details } from "./operator.js";

const ROW = 28;
const STEP = 16;
export function plansSection(summary, cuts) {
  const text = "The final plan, output at the top, data flowing upwards; operators of one pipeline of generated code stand in a frame. Select an operator for its expressions and metrics. A badge “× n” marks an operator with at least 10 times as many rows out as in, from 100,000 rows on.";
  const list = summary.sql ?? [];
  if (!list.length) return section("plans", "SQL plans", text, missing("The application ran no SQL (RDDs only), or the event log has no SQL events."));
  const several = new Set(list.map((item) => item.app_index)).size > 1;
  const measured = new Set(summary.window?.iterations ?? []);
  const first = [...list].sort((a, b) => measured.has(b.iteration) - measured.has(a.iteration) || (b.duration_ns ?? 0) - (a.duration_ns ?? 0))[0];
  const sampled = new Map((summary.operators ?? []).map((item) => [key(item.app_index, item.sql_id, item.node_id), item]));
  const view = el("div");
  let execution = first;
  let chosen = null;
  const hue = el("select", { id: "plan-hue", on: { change: () => { chosen = hue.value; draw(); } } });
  const hueLabel = el("label", { for: "plan-hue" }, " Colour by ");
  const pick = el("select", { id: "plan-pick", on: { change: () => { execution = list[Number(pick.value)]; draw(); } } },
    list.map((item, index) => el("option", { value: index, selected: item === first, data: { sql: item.sql_id, app: item.app_index } }, label(item, several))));
  function draw() {
    const nodes = fold(execution.nodes ?? []);
    const names = available(nodes);
    const measure = names.includes(chosen) ? chosen : names[0];
    replace(hue, names.map((name) => el("option", { value: name, selected: name === measure }, MEASURES[name].name)));
    hue.hidden = hueLabel.hidden = names.length < 2;
    replace(view, plan(execution, nodes, MEASURES[measure], sampled));
  }
  draw();
  const cut = (cuts ?? []).find((line) => line.startsWith("plans:"));
  return section("plans", "SQL plans", text, cut && el("p", { class: "note" }, `Shown: ${cut.slice(7)}.`),
    el("p", { class: "controls" }, el("label", { for: "plan-pick" }, "Execution "), pick, hueLabel, hue), view);
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

function plan(execution, nodes, measure, sampled) {
  if (!nodes.length) return missing(execution.nodes_cut ? "This plan was omitted to keep the page small: see `pyrometer show RUN --json`." : "The event log has no plan of this execution.");
  const { all, share } = measure ? sharer(nodes, measure) : { all: 0, share: () => 0 };
  const spills = nodes.some((node) => spilled(node) > 0);
  const around = frames(nodes);
  const exploded = new Map((execution.explosions ?? []).map((item) => [item.node_id, item]));
  const column = rails(nodes);
  const place = new Map(nodes.map((node, index) => [node.node_id, index]));
  const wide = (Math.max(...column.values()) + 1) * STEP + 18;
  const detail = el("aside", { class: "detail", "aria-live": "polite" });
  const rowsBox = el("div", { class: "plan-rows", role: "listbox", "aria-label": "Operators of the plan", tabindex: "0" });
  const x = (node) => column.get(node.node_id) * STEP + 10;
  const y = (node) => place.get(node.node_id) * ROW + ROW / 2;

  const drawing = svg("svg", { width: wide, height: nodes.length * ROW, class: "rails", "aria-hidden": "true" });
  const draw = () => replace(drawing,
    nodes.filter((node) => place.has(node.parent_node_id)).map((node) => {
      const parent = nodes[place.get(node.parent_node_id)];
      const [x1, y1, x2, y2] = [x(parent), y(parent), x(node), y(node)];
      return svg("path", { d: x1 === x2 ? `M${x1} ${y1}V${y2}` : `M${x1} ${y1}Q${x2} ${y1} ${x2} ${Math.min(y2, y1 + ROW / 2)}V${y2}`, fill: "none", stroke: css("--rail"), "stroke-width": 2 });
    }),
    nodes.map((node) => svg("circle", { cx: x(node), cy: y(node), r: 5.5, fill: heat(share(node), dark()) || css("--panel"), stroke: css("--ink-dim"), "stroke-width": 1 })));
  const rows = nodes.map((node, at) => {
    const frame = isCluster(node) ? node.node_id : around.get(node.node_id);
    const ends = frame !== null && around.get(nodes[at + 1]?.node_id) !== frame;
    const style = ["plan-row", isCluster(node) && "frame-head", frame !== null && "framed", ends && "frame-end"].filter(Boolean).join(" ");
    const args = argument(node);
    const grown = exploded.get(node.node_id);
    const data = size(node);
    return el("div", { class: style, role: "option", id: `op-${execution.app_index}-${execution.sql_id}-${node.node_id}`, "aria-selected": "false", on: { click: () => select(node) } },
      el("span", { class: "op", style: { "padding-left": `${wide}px` } }, el("b", null, isCluster(node) ? `Pipeline ${node.name.match(/\((\d+)\)/)?.[1] ?? ""}` : node.name), isCluster(node) && el("span", { class: "args" }, "whole-stage code generation"), grown && el("span", { class: "explosion", title: growth(grown) }, factor(grown)), args && !isCluster(node) && el("span", { class: "args" }, args)),
      measure && el("span", { class: "cell cpu" }, measure.of(node) > 0 ? [el("span", { class: "track" }, el("span", { class: "fill", style: { width: `${share(node) * 100}%` } })), el("span", null, measure.show(measure.of(node))), el("span", { class: "dim" }, measure.parts && percent(share(node)))] : [el("span"), "–", el("span")]),
      measure !== MEASURES.rows && el("span", { class: "cell" }, short(outputRows(node))),
      el("span", { class: "cell size" }, data ? [bytes(data.bytes), el("span", { class: "dim" }, ` ${data.what}`)] : "–"),
      spills && el("span", { class: "cell" }, bytes(spilled(node))),
      el("span", { class: "cell stages" }, (node.stage_ids ?? []).join(", ") || "–"));
  });

  function select(node) {
    rows.forEach((row, index) => row.setAttribute("aria-selected", String(nodes[index] === node)));
    rowsBox.setAttribute("aria-activedescendant", rows[place.get(node.node_id)].id);
    replace(detail, details(node, sampled.get(key(execution.app_index, execution.sql_id, node.node_id)), nodes, exploded.has(node.node_id) ? `${growth(exploded.get(node.node_id))}: ${factor(exploded.get(node.node_id))}` : null));
    selected = place.get(node.node_id);
  }

  let selected = nodes.reduce((best, node, index) => (share(node) > share(nodes[best]) && !isCluster(node) ? index : best), 0);
  if (!measure?.parts && execution.explosions?.length) selected = place.get(execution.explosions[0].node_id) ?? selected;
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
  const columns = ["minmax(0, 1fr)", measure && "210px", measure !== MEASURES.rows && "88px", "152px", spills && "76px", "74px"].filter(Boolean).join(" ");
  const heads = [measure?.title, measure !== MEASURES.rows && "Rows out", "Bytes", spills && "Spilled"].filter(Boolean);
  return el("div", { class: "plan" },
    el("div", { class: "plan-main", style: { "--plan-columns": columns } },
      execution.error && el("p", { class: "bad" }, execution.error),
      measure && scale(measure, all),
      el("div", { class: "plan-row plan-head", "aria-hidden": "true" }, el("span", { class: "op" }, "Operator"), heads.map((name) => el("span", { class: "cell" }, name)), el("span", { class: "cell stages" }, "Stages")),
      rowsBox),
    detail);
}

// The colours' key: what they stand for, and where the scale ends.
function scale(measure, all) {
  const swatches = el("span", { class: "heat-key", "aria-hidden": "true" });
  const draw = () => replace(swatches, [0.01, 0.06, 0.18, 0.35, 0.6, 1].map((share) => el("i", { style: { background: heat(share, dark()) } })));
  draw();
  onTheme(draw);
  return el("p", { class: "note plan-key" }, `Colour: ${measure.key}. 0 `, swatches, ` ${measure.show(all)}${measure.parts ? ", the whole plan" : ", the largest"}`);
}

function argument(node) {
  const text = (node.simple_string ?? "").replace(/\s+/g, " ");
  const rest = text.startsWith(node.name) ? text.slice(node.name.length).trim() : text;
  return rest.slice(0, 220);
}
