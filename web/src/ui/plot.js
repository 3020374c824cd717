// Drawings with axes: scales, round ticks, and marks that the keyboard reaches.
import { el, svg } from "./dom.js";
import { tipOn } from "./tip.js";

// Width of a drawing as wide as the page was when the drawing was created.
export const wide = () => Math.max(760, Math.min(1400, document.documentElement.clientWidth - 70));

// Where a value of [low, high] lies between two positions.
export function linear(low, high, from, to) {
  const span = high - low || 1;
  return (value) => from + ((value - low) / span) * (to - from);
}

const enough = (rough) => (candidate) => candidate >= rough * (1 - 1e-9);

function decimal(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((times) => times * power).find(enough(rough));
}

const CLOCK = [10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400].map((seconds) => seconds * 1e9);

// Of times in ns: from 10 s on what is round in minutes and hours, as they are written then.
export const clock = (rough) => (rough <= 5e9 ? decimal(rough) : CLOCK.find(enough(rough)) ?? 86400e9 * decimal(rough / 86400e9));

// Round values between low and high, about `wanted` of them; `round` gives the least round step that is no smaller.
export function steps(low, high, wanted = 5, round = decimal) {
  const rough = (high - low) / Math.max(1, wanted);
  if (!(rough > 0)) return [low];
  const step = round(rough);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at += 1) found.push(at === 0 ? 0 : Number((at * step).toPrecision(12)));
  return found;
}

// Ends that hold all values and a little room; `more` must be inside, too.
export function extent(values, more = []) {
  const all = [...values, ...more].filter((value) => Number.isFinite(value));
  if (!all.length) return [0, 1];
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const room = (high - low || Math.abs(high) || 1) * 0.06;
  return [low - room, high + room];
}

// A drawing with a name and, in words, what it shows. It keeps its size and scrolls where that is too wide.
export function drawing(title, text, width, height, ...children) {
  return el("div", { class: "drawing" },
    svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `${title}. ${text}` }, children));
}

export const line = (x1, y1, x2, y2, name) => svg("line", { x1, y1, x2, y2, class: name });

export const words = (x, y, text, name, anchor = "start") => svg("text", { x, y, class: name, "text-anchor": anchor }, text);

// Vertical lines at round values with their labels below.
export function axisBelow(x, values, top, bottom, label) {
  return values.map((value) => [line(x(value), top, x(value), bottom, "grid"), words(x(value), bottom + 15, label(value), "tick", "middle")]);
}

// Horizontal lines at round values with their labels at the left.
export function axisLeft(y, values, left, right, label) {
  return values.map((value) => [line(left, y(value), right, y(value), "grid"), words(left - 6, y(value) + 4, label(value), "tick", "end")]);
}

// Outlines of marks around their centre, distinguishable without colour.
export const SHAPES = ["M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0Z", "M-4-4H4V4H-4Z", "M0-5L5 4H-5Z", "M0-5L5 0L0 5L-5 0Z", "M0 5L5-4H-5Z", "M-5-2H-2V-5H2V-2H5V2H2V5H-2V2H-5Z"];

// Make marks reachable: one stop of the Tab key for all, arrows move among them, Enter opens.
// Marks: {node, label, tip(), open?()}.
export function reach(marks) {
  marks.forEach(({ node, label, tip, open }, at) => {
    node.setAttribute("tabindex", at ? "-1" : "0");
    node.setAttribute("role", open ? "link" : "img");
    node.setAttribute("aria-label", label);
    node.classList.add("mark");
    tipOn(node, tip);
    if (open) node.addEventListener("click", open);
    node.addEventListener("keydown", (event) => {
      const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const to = event.key === "Home" ? 0 : event.key === "End" ? marks.length - 1 : move && at + move;
      if (event.key === "Enter" && open) open();
      if (to === undefined || !marks[to]) return;
      event.preventDefault();
      node.setAttribute("tabindex", "-1");
      marks[to].node.setAttribute("tabindex", "0");
      marks[to].node.focus();
    });
  });
  return marks.map(({ node }) => node);
}
