// The differential flame graph: one tree of the stacks of both sides, coloured by what changed.
import { bounds, css, LESS, MORE } from "../../ui/colours.js";
import { el, missing, section } from "../../ui/dom.js";
import { count, interval, percent, time } from "../../ui/format.js";
import { onTheme } from "../../ui/theme.js";
import { flameCanvas } from "../canvas.js";
import { pattern, search } from "../frames.js";
import { makeZoom } from "../zoom.js";
import { changeOf, differenceSum, differenceView, EVENTS, isChange, loadDifference, SAME, signed } from "./model.js";

const WIDTHS = { b: "B", a: "A", both: "A + B" };
const TEXT = "Stacks of both sides in one tree. Width is time per iteration, colour its change: blue took less, red more, grey is no significant difference. Click a box to zoom into it. Keys: arrows move, Enter zooms, Backspace goes back, Escape shows all, / searches.";

// The verdict with sides swapped.
const turned = (verdict, swapped) => (swapped ? { slower: "faster", faster: "slower" }[verdict] ?? verdict : verdict);

export function differenceGraph(content, columns) {
  if (!content.flame?.nodes_count) return section("flame", "Flame graph", TEXT, missing(content.flame?.reason ?? "Neither side has stacks."));
  return section("flame", "Flame graph", TEXT, graph(loadDifference(content.flame, columns)));
}

function graph(model) {
  const state = { event: Object.keys(model.sides)[0], width: "both", swapped: false, lit: "", text: "" };
  let [view, found, steps] = [null, null, []];
  const canvas = flameCanvas({ id: "difference-canvas", label: "Differential flame graph; the selected frame is read out below", tallest: () => Math.max(400, Math.round(innerHeight * 0.85)), look: { fill, lit, about, pick: (i) => zoom.to(i), moved: describe, key: (key) => zoom.pressed(key) } });
  const zoom = makeZoom("difference", go, (text) => { state.text = text; seek(); });
  const status = el("p", { class: "flame-status", "aria-live": "polite" });
  const legend = el("div", { class: "legend", id: "difference-legend" });
  const swap = el("button", { type: "button", id: "difference-swap", "aria-pressed": "false", title: "Take B as the baseline instead of A", on: { click: () => { state.swapped = !state.swapped; swap.setAttribute("aria-pressed", String(state.swapped)); colour(); } } }, "Swap sides");
  const choose = (name, label, options, change) => el("label", null, `${label} `, el("select", { "data-name": name, on: { change: (event) => change(event.target.value) } }, options.map(([value, text]) => el("option", { value, selected: value === state[name] }, text))));
  const events = Object.keys(model.sides).map((event) => el("button", { type: "button", title: EVENTS[event][1], data: { event }, "aria-pressed": String(event === state.event), on: { click: () => { state.event = event; for (const one of events) one.setAttribute("aria-pressed", String(one.dataset.event === event)); rebuild(); } } }, EVENTS[event][0]));
  const bar = el("div", { class: "controls flame-controls" },
    events.length > 1 && el("div", { class: "segments", role: "group", "aria-label": "What to show" }, events),
    choose("width", "Width", Object.entries(WIDTHS), (value) => { state.width = value; rebuild(); }),
    choose("lit", "Highlight", [["", "nothing"], ...["slower", "faster", "only in A", "only in B"].map((name) => [name, name])], (value) => { state.lit = value; canvas.draw(); }),
    swap, el("span", { class: "grow" }), zoom.controls);

  function fill(i) {
    const { change, verdict } = changeOf(model, state.event, i, state.swapped);
    if (!isChange(verdict)) return css("--mixed");
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
    const side = model.sides[state.event];
    steps = bounds(side.a.reduce((most, a, i) => Math.max(most, isChange(model.verdicts[side.verdict[i]]) ? Math.abs(side.b[i] - a) : 0), 0));
    view = differenceView(model, state.event, state.width);
    zoom.start();
    colour();
  }

  function go() {
    canvas.show(view, zoom.at);
    seek();
    describe(zoom.at);
  }

  function seek() {
    const wanted = pattern(state.text);
    found = wanted ? search(canvas.view, wanted, canvas.root) : null;
    zoom.share.textContent = found ? zoom.matched(found) : "";
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
      key(css("--mixed"), verdict.some((one) => isChange(model.verdicts[one])) ? "no significant difference, or too few samples" : SAME),
      el("b", null, "more by"),
      ...levels.map((level) => key(MORE[level], range(level))));
    canvas.draw();
    describe(canvas.root);
  }

  function describe(i) {
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
