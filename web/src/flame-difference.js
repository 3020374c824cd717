// The difference of two profiles: one tree of both sides' stacks, coloured by what changed.
import { el, missing, section } from "./dom.js";
import { css } from "./colours.js";
import { count, interval, NONE, percent, signedPercent, time } from "./format.js";
import { links } from "./flame-boxes.js";
import { flameCanvas } from "./flame-canvas.js";
import { pattern, search } from "./flame-table.js";
import { stringTable } from "./packed.js";
import { doubts } from "./summary.js";
import { table } from "./table.js";
import { onTheme } from "./theme.js";

export const DIFFERENCE_NAVIGATION = [["difference", "Summary"], ["doubts", "Doubts"], ["flame", "Flame graph"], ["operators", "Operators"], ["frames", "Frames"]];
// Paul Tol's sunset scheme, told apart by colour-blind readers: blue took less time, red more.
export const LESS = ["#c2e4ef", "#98cae1", "#6ea6cd", "#364b9a"];
export const MORE = ["#feda8b", "#fdb366", "#f67e4b", "#a50026"];
const WIDTHS = { b: "B", a: "A", both: "A + B" };
const EVENTS = { cpu: ["CPU", "Time on a CPU, sampled."], wall: ["Wall", "Wall time of tasks, running or waiting, sampled."] };
const SAME = "no significant difference";
const UNTOLD = [SAME, "too few samples"];
const TEXT = "Stacks of both sides in one tree. Width is time per iteration, colour its change: blue took less, red more, grey is no significant difference. Click a box to zoom into it. Keys: arrows move, Enter zooms, Backspace goes back, Escape shows all, / searches.";

export function differencePage(content, columns) {
  return [head(content), doubts(content.doubts), picture(content, columns), operators(content), frames(content)];
}

// Columns of the tree, and per event those of its nodes.
export function loadDifference({ events, verdicts }, columns) {
  const own = (name) => columns[`difference.${name}`];
  const of = (event) => Object.fromEntries(["a", "b", "low", "high", "a_n", "b_n", "verdict"].map((name) => [name, own(`${event}.${name}`)]));
  const depth = own("depth");
  return { frame: own("frame"), depth, ...links(depth), strings: stringTable(own("strings.ends"), own("strings.bytes")), verdicts, sides: Object.fromEntries(events.map((event) => [event, of(event)])) };
}

// Boxes as wide as A, B or both: what a canvas draws.
export function differenceView(model, event, width) {
  const { frame, depth, parent, end, strings } = model;
  const { a, b } = model.sides[event];
  const total = width === "both" ? a.map((value, i) => value + b[i]) : Float64Array.from(width === "a" ? a : b);
  const size = frame.length;
  const x = new Float64Array(size);
  const next = new Float64Array(size); // where the next child begins
  let sum = 0;
  for (let i = 0; i < size; i += 1) {
    const above = parent[i];
    x[i] = above < 0 ? sum : next[above];
    next[i] = x[i];
    if (above < 0) sum += total[i];
    else next[above] += total[i];
  }
  const name = (index) => strings.get(index);
  return { size, depth, parent, end, x, total, sum, frames: strings.length + 1, frame: (i) => frame[i], name, label: (i) => name(frame[i]), kind: () => "frame" };
}

// Where the colours change: three bounds of the series 1, 3, 10, … below the largest change.
export function bounds(most) {
  if (!(most > 0)) return [];
  const power = 10 ** Math.floor(Math.log10(most));
  return most >= 3 * power ? [(3 * power) / 10, power, 3 * power] : [power / 10, (3 * power) / 10, power];
}

// Change of a box as the reader asked for it, B after A or, sides swapped, A after B.
export function changeOf(model, event, i, swapped) {
  const side = model.sides[event];
  const [sign, low, high] = swapped ? [-1, -side.high[i], -side.low[i]] : [1, side.low[i], side.high[i]];
  return { a: side.a[i], b: side.b[i], change: sign * (side.b[i] - side.a[i]), low, high, samples: [side.a_n[i], side.b_n[i]], verdict: model.verdicts[side.verdict[i]] };
}

const turned = (verdict, swapped) => (swapped ? { slower: "faster", faster: "slower" }[verdict] ?? verdict : verdict);
const named = (run) => [run.workload, ...Object.entries(run.treatment ?? {}).map(([name, level]) => `${name.split(".").at(-1)}=${level}`)].filter(Boolean).join(" ");

function head(content) {
  const whole = content.whole.find(({ event }) => event === "cpu") ?? content.whole[0];
  const said = content.verdict === SAME ? "No significant difference" : `${EVENTS[whole.event][0]} time per iteration: ${time(whole.total.a.value)} → ${time(whole.total.b.value)}`;
  return el("div", { class: "head", id: "difference" },
    el("h1", null, said),
    content.verdict === SAME ? null : el("p", null, `Change ${signed(whole.total.change.value)}, 95 % interval ${interval(whole.total.change.low, whole.total.change.high, "ns")}.`),
    el("dl", { class: "facts" }, [["A", content.a], ["B", content.b]].map(([name, side]) => el("div", null, el("dt", null, name), side.runs.map((run) => el("dd", null, el("bdi", null, `${named(run)} ${run.run_dir}`))), el("dd", null, `${count(side.iterations_count)} iteration${side.iterations_count === 1 ? "" : "s"}`)))),
    el("p", { class: "note" }, `${count(content.tests_count)} tests, at a false discovery rate of ${percent(content.false_discovery_rate)} (Benjamini–Hochberg); ${count(content.too_few_samples_count)} more had too few samples to be tested. Intervals are each test's own.`));
}

function picture(content, columns) {
  if (!content.flame?.nodes_count) return section("flame", "Flame graph", TEXT, missing(content.flame?.reason ?? "Neither side has stacks."));
  return section("flame", "Flame graph", TEXT, graph(loadDifference(content.flame, columns)));
}

function graph(model) {
  const state = { event: Object.keys(model.sides)[0], width: "both", swapped: false, lit: "", text: "", back: [] };
  let [found, steps] = [null, []];
  const canvas = flameCanvas({ id: "difference-canvas", label: "Differential flame graph; the selected frame is read out below", tallest: () => Math.max(400, Math.round(innerHeight * 0.85)), look: { fill, lit, about, pick: (i) => zoom(i), moved: tell, key: pressed } });
  const status = el("p", { class: "flame-status", "aria-live": "polite" });
  const legend = el("div", { class: "legend", id: "difference-legend" });
  const share = el("output", { class: "aside" });
  const input = el("input", { type: "search", placeholder: "Search (regex)", "aria-label": "Search frames by regular expression", on: { input: () => { state.text = input.value; seek(); } } });
  const back = el("button", { type: "button", on: { click: goBack } }, "Back");
  const reset = el("button", { type: "button", on: { click: () => zoom(-1) } }, "Reset zoom");
  const swap = el("button", { type: "button", id: "difference-swap", "aria-pressed": "false", title: "Take B for what was before, and A for what came after", on: { click: () => { state.swapped = !state.swapped; swap.setAttribute("aria-pressed", String(state.swapped)); colour(); } } }, "Swap sides");
  const choose = (name, label, options, change) => el("label", null, `${label} `, el("select", { "data-name": name, on: { change: (event) => change(event.target.value) } }, options.map(([value, text]) => el("option", { value, selected: value === state[name] }, text))));
  const events = Object.keys(model.sides).map((event) => el("button", { type: "button", title: EVENTS[event][1], data: { event }, "aria-pressed": String(event === state.event), on: { click: () => { state.event = event; for (const one of events) one.setAttribute("aria-pressed", String(one.dataset.event === event)); rebuild(); } } }, EVENTS[event][0]));
  const bar = el("div", { class: "controls flame-controls" },
    events.length > 1 && el("div", { class: "segments", role: "group", "aria-label": "What to show" }, events),
    choose("width", "Width", Object.entries(WIDTHS), (value) => { state.width = value; rebuild(); }),
    choose("lit", "Highlight", [["", "nothing"], ...["slower", "faster", "only in A", "only in B"].map((name) => [name, name])], (value) => { state.lit = value; canvas.draw(); }),
    swap, el("span", { class: "grow" }), input, share, back, reset);

  function fill(i) {
    const { change, verdict } = changeOf(model, state.event, i, state.swapped);
    if (UNTOLD.includes(verdict)) return css("--mixed");
    return (change > 0 ? MORE : LESS)[steps.filter((step) => Math.abs(change) >= step).length];
  }

  function lit(i) {
    if (found) return Boolean(found.hit[i]);
    return state.lit ? turned(changeOf(model, state.event, i, state.swapped).verdict, state.swapped) === state.lit : null;
  }

  function about(i) {
    const { a, b, change, low, high, samples, verdict } = changeOf(model, state.event, i, state.swapped);
    const wholes = ["a", "b"].map((name) => differenceSum(model, state.event, name));
    return [canvas.view.label(i), [
      ["A", `${time(a)} per iteration · ${percent(a / wholes[0])} of all · ${count(samples[0])} samples`],
      ["B", `${time(b)} per iteration · ${percent(b / wholes[1])} of all · ${count(samples[1])} samples`],
      [state.swapped ? "A − B" : "B − A", signed(change)],
      ["95 % interval", interval(low, high, "ns")],
      ["verdict", turned(verdict, state.swapped)],
    ]];
  }

  function rebuild() {
    state.back = [];
    const side = model.sides[state.event];
    steps = bounds(side.a.reduce((most, a, i) => Math.max(most, UNTOLD.includes(model.verdicts[side.verdict[i]]) ? 0 : Math.abs(side.b[i] - a)), 0));
    go(-1, differenceView(model, state.event, state.width));
    colour();
  }

  function go(root, view = canvas.view) {
    canvas.show(view, root);
    back.disabled = state.back.length === 0;
    reset.disabled = root < 0;
    seek();
    tell(root);
  }

  function seek() {
    const wanted = pattern(state.text);
    found = wanted ? search(canvas.view, wanted, canvas.root) : null;
    share.textContent = found ? `${percent(found.share)} matched (${count(found.frames)} frames)` : "";
    canvas.draw();
  }

  function colour() {
    const { verdict } = model.sides[state.event];
    const key = (fill_, text) => el("span", null, el("i", { class: "swatch", style: { background: fill_ } }), text);
    const range = (level) => (level === 0 ? `< ${time(steps[0])}` : level === steps.length ? `≥ ${time(steps[level - 1])}` : interval(steps[level - 1], steps[level], "ns"));
    const levels = steps.length ? [...Array(steps.length + 1).keys()] : [];
    legend.replaceChildren(
      el("b", null, state.swapped ? "A less than B by" : "B less than A by"),
      ...levels.map((level) => key(LESS[level], range(level))).reverse(),
      key(css("--mixed"), verdict.some((one) => !UNTOLD.includes(model.verdicts[one])) ? "no significant difference, or too few samples" : SAME),
      el("b", null, "more by"),
      ...levels.map((level) => key(MORE[level], range(level))));
    canvas.draw();
    tell(canvas.root);
  }

  function zoom(i, remember = true) {
    if (i === canvas.root) return;
    if (remember) state.back.push(canvas.root);
    go(i);
  }

  function goBack() {
    if (state.back.length) zoom(state.back.pop(), false);
  }

  function pressed(key) {
    if (key === "Backspace") goBack();
    else if (key === "Escape") zoom(-1);
    else if (key === "/") input.focus();
    else return false;
    return true;
  }

  function tell(i) {
    if (i >= 0) {
      const [title, pairs] = about(i);
      status.textContent = [title, ...pairs.map(([name, value]) => `${name} ${value}`)].join(" · ");
    } else status.textContent = ["a", "b"].map((name) => `${name.toUpperCase()} ${time(differenceSum(model, state.event, name))}`).join(", ") + " per iteration.";
  }

  onTheme(colour);
  addEventListener("beforeprint", () => canvas.draw());
  rebuild();
  return el("div", { class: "flame" }, bar, legend, canvas.node, status);
}

// Time per iteration of all roots of a side.
function differenceSum(model, event, name) {
  const column = model.sides[event][name];
  let sum = 0;
  for (let i = 0; i < column.length; i = model.end[i]) sum += column[i];
  return sum;
}

const signed = (ns) => `${ns > 0 ? "+" : ""}${time(ns)}`;

// Columns of a table about changes that `of` gives.
function changes(of, kind) {
  return [
    { label: `A${kind}`, value: (row) => of(row).a.value, show: (row) => time(of(row).a.value), number: true },
    { label: `B${kind}`, value: (row) => of(row).b.value, show: (row) => time(of(row).b.value), number: true },
    { label: `Change${kind}`, value: (row) => Math.abs(of(row).change.value), show: (row) => signed(of(row).change.value), number: true, help: "Per iteration; sorted by size." },
    { label: "95 % interval", value: (row) => of(row).change.low, show: (row) => interval(of(row).change.low, of(row).change.high, "ns"), number: true },
    { label: "Share", value: (row) => of(row).share_change.value, show: (row) => (of(row).share_a === null ? NONE : `${percent(of(row).share_a)} → ${percent(of(row).share_b)} (${signedPercent(of(row).share_change.value)})`), number: true, help: "Of everything sampled on its side." },
    { label: "Verdict", value: (row) => of(row).verdict },
  ];
}

const eventColumn = { label: "Event", value: (row) => EVENTS[row.event]?.[0] ?? row.event };

function operators({ operators: found, expressions }) {
  const part = (label, rows) => table([eventColumn, { label, value: (row) => row.name, show: (row) => el("bdi", null, row.name), class: "frame" }, ...changes((row) => row.total, "")], rows, { first: 15, sort: { column: 4, down: true }, empty: "None had samples enough." });
  return section("operators", "Operators", "Time per iteration that tasks spent in each operator of the plans, and in expressions where lines of generated code tell them.", part("Operator", found), expressions.length > 0 && [el("h3", null, "Expressions"), part("Expression", expressions)]);
}

function frames({ frames: found, flame }) {
  const own = found.filter((row) => row.self.verdict !== UNTOLD[1]);
  const part = (rows, of) => table([eventColumn, { label: "Frame", value: (row) => row.name, show: (row) => el("bdi", null, row.name), class: "frame" }, ...changes(of, "")], rows, { first: 15, sort: { column: 4, down: true }, empty: "None had samples enough." });
  return section("frames", "Frames", "Numbers that a JVM or the code generator hands out are left out of names (*), and lines are no part of them.",
    el("h3", null, "Themselves"), part(own, (row) => row.self),
    el("h3", null, "With what they called"), part(found, (row) => row.total),
    flame?.hidden_frames_count > 0 && el("p", { class: "note" }, `${count(flame.hidden_frames_count)} frames with smaller changes are left out here.`));
}
