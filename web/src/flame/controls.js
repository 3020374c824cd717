// What is shown in the flame graph, and in which order: the controls above it.
import { el } from "../ui/dom.js";
import { words } from "../ui/format.js";
import { groupName } from "./boxes.js";
import { MODES } from "./colouring.js";
import { BOTH, bothOf, hasBoth } from "./model.js";

const EVENTS = {
  cpu: ["CPU", "Time on a CPU, sampled."],
  wall: ["Wall", "Wall time of threads, running or waiting, sampled."],
  state: ["Waiting", "Time off the CPU by thread state, with the kernel stack below the Java stack."],
  [BOTH]: ["CPU + waiting", "Time on and off the CPU in one picture; nothing is counted twice."],
  alloc: ["Allocation", "Bytes of Java objects allocated; the last box is the class."],
  live: ["Live heap", "Bytes of Java objects still in use at the end; the last box is the class."],
  nativemem: ["Native memory", "Bytes requested from the native allocator and not freed."],
  lock: ["Locks", "Time blocked on Java locks; the last box is the class of the lock."],
};
const FILTERS = ["serves", "role", "stage", "iteration", "executor", "process"];
const ORDER = ["Group by", "then", "then", "then"];
export const DIMENSIONS = { stage: "Stage", iteration: "Iteration", serves: "Threads", role: "Thread role", what: "Kind of work", sql: "SQL execution", operator: "Operator", expression: "Expression", job: "Job", task: "Task", state: "State", wait: "Wait class", executor: "Executor", process: "Process", thread: "Thread" };

// Controls that write into `state` and then call `rebuild`, or `recolour` where only colours change.
// `fold()` is called where runners are to be folded, or not; `show()` sets the controls to the state; `more`
// stands behind them.
export function flameControls(model, state, measured, { rebuild, recolour, turn, fold, more }) {
  const { meta } = model;
  const events = hasBoth(model) ? meta.event_names.flatMap((name) => (name === bothOf(meta)[1] ? [name, BOTH] : [name])) : meta.event_names;
  const colours = Object.entries(MODES).filter(([name]) => !(name in DIMENSIONS) || meta.dimensions[name]?.length > 1);
  const select = (name, label, options, change) => el("label", null, `${label} `, el("select", { "data-name": name, on: { change: (event) => change(event.target.value) } }, options.map(([value, text]) => el("option", { value }, text))));
  const filter = (name) => {
    const values = meta.dimensions[name];
    if (values.length < 2) return null;
    const text = (index) => (name === "serves" ? { tasks: "for tasks", application: "for the application" }[values[index]] ?? "unknown" : name === "role" ? words(groupName({ meta }, name, index)) : groupName({ meta }, name, index));
    const options = [["", "all"], name === "iteration" && measured.length > 1 && ["measured", "measured"], ...values.map((_, index) => [index, text(index)])];
    return select(name, DIMENSIONS[name], options.filter(Boolean), (value) => {
      state.filters[name] = value === "" ? null : value === "measured" ? measured : [Number(value)];
      rebuild();
    });
  };
  const grouped = [["", "nothing"], ...Object.keys(meta.dimensions).filter((name) => meta.dimensions[name].length > 1).map((name) => [name, DIMENSIONS[name] ?? name])];
  const bar = el("div", { class: "controls flame-controls" },
    el("div", { class: "segments", role: "group", "aria-label": "What to show" }, events.map((name) => el("button", { type: "button", title: EVENTS[name]?.[1], data: { event: name }, on: { click: () => { state.event = name; show(); rebuild(); } } }, EVENTS[name]?.[0] ?? name))),
    FILTERS.map(filter),
    el("span", { class: "orders" }, ORDER.map((label, level) => select(`group${level}`, label, grouped, (value) => { state.groups[level] = value; show(); rebuild(); }))),
    select("inverted", "Stacks", [["", "from the root"], ["yes", "from the leaf: callers below"]], (value) => { state.inverted = value !== ""; rebuild(); }),
    select("upright", "Drawn", [["", "downwards (icicle)"], ["yes", "upwards (flame)"]], (value) => { state.upright = value !== ""; turn(); }),
    model.runner?.some((kind) => kind) && select("runners", "Runner frames", [["", "folded"], ["yes", "shown"]], (value) => { state.runners = value !== ""; fold(); }),
    meta.critical && select("weight", "Weight", [["time", "time"], ["critical", "critical time"]], (value) => { state.weight = value; rebuild(); }),
    select("colour", "Colour", colours, (value) => { state.colour = value; recolour(); }),
    el("span", { class: "grow" }), more);

  function show() {
    const set = (name, value) => {
      const box = bar.querySelector(`select[data-name="${name}"]`);
      if (box) box.value = String(value ?? "");
      return box;
    };
    for (const name of FILTERS) {
      const allowed = state.filters[name];
      set(name, allowed === measured && measured.length > 1 ? "measured" : allowed?.[0]);
    }
    // The next dimension can be chosen once one stands before it.
    ORDER.forEach((_, level) => { set(`group${level}`, state.groups[level]).parentNode.hidden = level > 0 && !state.groups[level - 1]; });
    set("inverted", state.inverted ? "yes" : "");
    set("upright", state.upright ? "yes" : "");
    set("runners", state.runners ? "yes" : "");
    set("weight", state.weight);
    set("colour", state.colour);
    for (const button of bar.querySelectorAll("[data-event]")) button.setAttribute("aria-pressed", String(button.dataset.event === state.event));
  }

  return { bar, show };
}
