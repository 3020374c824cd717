// The flame graph: an icicle on a canvas. Root on top, width is weight, colour tells what the CPU
// was doing or what kind of code a frame is.
import { el, missing, replace, section } from "./dom.js";
import { css, ink, KIND_COLOURS, named, NEUTRAL } from "./colours.js";
import { count, percent, unit, wilson, words } from "./format.js";
import { flameControls } from "./flame-controls.js";
import { drawing, save } from "./flame-export.js";
import { fromLink, toLink } from "./flame-link.js";
import { groupName, hottest, loadFlame, makeView, pattern, search } from "./flame-model.js";
import { facts, hideTip, showTip } from "./tip.js";
import { table } from "./table.js";
import { onTheme } from "./theme.js";

const ROW = 18;
const NARROW = 0.5;
const TALLEST = 1300;
const TEXT = "Every sample is a stack of calls; equal stacks are joined, callers above callees. The wider a box, the more was spent in it and what it called. By critical time a sample of a task weighs less the more tasks ran beside it: what elapsed time depends on. Click a box to zoom into it. Keys: arrows move, Enter zooms, Backspace goes back, Escape shows all, / searches.";
export function flameSection(meta, columns, window) {
  if (!meta || meta.reason || !meta.nodes_count) return section("flame", "Flame graph", TEXT, missing(meta?.reason ?? "The profiler delivered no samples."));
  return section("flame", "Flame graph", TEXT, flameGraph(loadFlame(meta, columns), window));
}

function flameGraph(model, window) {
  const { meta } = model;
  const state = { event: meta.event_names[0], filters: {}, groups: [], weight: "time", inverted: false, colour: "what", root: -1, back: [], found: null, selected: -1, text: "" };
  let view = null;
  const measured = (window?.iterations ?? []).map((number) => meta.dimensions.iteration.indexOf(number)).filter((index) => index >= 0);

  const canvas = el("canvas", { tabindex: "0", role: "application", "aria-label": "Flame graph; the selected frame is read out below", id: "flame-canvas" });
  const spacer = el("div", { class: "spacer" });
  const scroller = el("div", { class: "flame-scroll" }, canvas, spacer);
  const status = el("p", { class: "flame-status", "aria-live": "polite", id: "flame-status" });
  const share = el("output", { class: "aside", id: "flame-share" });
  const legend = el("div", { class: "legend" });
  const hot = el("div");
  const input = el("input", { type: "search", id: "flame-search", placeholder: "Search (regex)", "aria-label": "Search frames by regular expression", on: { input: () => { state.text = input.value; look(); } } });
  const back = el("button", { type: "button", id: "flame-back", on: { click: goBack } }, "Back");
  const reset = el("button", { type: "button", id: "flame-reset", on: { click: () => zoom(-1) } }, "Reset zoom");
  const keep = [
    ["Link", "Put this view into the page's address", link],
    ["PNG", "Save what is in view as a picture", () => canvas.toBlob((picture) => save(picture, "flame.png"))],
    ["SVG", "Save the whole of this view as a picture whose text can be searched", () => save(new Blob([svgText()], { type: "image/svg+xml" }), "flame.svg")],
  ].map(([name, title, click]) => el("button", { type: "button", title, data: { keep: name.toLowerCase() }, on: { click } }, name));

  const controls = flameControls(model, state, measured, { rebuild, recolour, more: [input, share, back, reset, keep] });

  function link() {
    history.replaceState(null, "", toLink(state, meta, measured));
    status.textContent = "The address of this page brings back this view.";
  }

  function svgText() {
    const width = 1200;
    const height = (deepestSeen(state.root, width) + 1) * ROW;
    return drawing(width, height, ROW, [...boxes(width, height, 0)].map((box) => ({ ...box, fill: colour(box.i), label: view.label(box.i), title: [view.label(box.i), ...about(box.i)[1].filter(([, value]) => value).map(([name, value]) => `${name} ${value}`)].join("\n") })));
  }

  function recolour() {
    draw();
    drawLegend();
  }

  function rebuild() {
    const groups = state.groups.filter((name, level) => name && state.groups.indexOf(name) === level);
    const weight = meta.critical?.includes(state.event) ? state.weight : "time";
    view = makeView(model, { event: state.event, filters: state.filters, groups, weight, inverted: state.inverted });
    Object.assign(state, { root: -1, back: [], selected: -1 });
    scroller.scrollTop = 0;
    look();
    drawLegend();
    drawHot();
  }

  function look() {
    const wanted = pattern(state.text);
    state.found = wanted && view.size ? search(view, wanted, state.root) : null;
    share.textContent = state.found ? `${percent(state.found.share)} matched (${count(state.found.frames)} frames)` : "";
    tell();
    draw();
  }

  function zoom(node, remember = true) {
    if (node === state.root) return;
    if (remember) state.back.push(state.root);
    state.root = node;
    state.selected = node;
    scroller.scrollTop = 0;
    look();
    drawHot();
  }

  function goBack() {
    if (state.back.length) zoom(state.back.pop(), false);
  }

  const colour = (i) => {
    if (view.kind(i) === "group") return css("--panel-2");
    if (state.colour === "kind") return KIND_COLOURS[view.kind(i)] ?? NEUTRAL;
    const name = view.what[i] < 0 ? null : meta.dimensions.what[view.what[i]];
    return name === null || view.purity[i] < 0.6 ? css("--mixed") : named(name);
  };

  function draw() {
    const width = scroller.clientWidth;
    if (!width || !view) return;
    back.disabled = state.back.length === 0;
    reset.disabled = state.root < 0;
    const rows = deepestSeen(state.root, width) + 1;
    spacer.style.height = `${rows * ROW}px`;
    const height = Math.min(rows * ROW + 2, Math.max(400, Math.round(innerHeight * 0.85), TALLEST));
    scroller.style.height = `${height}px`;
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const ctx = canvas.getContext("2d");
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, width, height);
    ctx.font = `11.5px ${css("--sans")}`;
    ctx.textBaseline = "middle";
    const theme = { ink: css("--ink"), dim: css("--unmatched"), dimInk: css("--ink-dim"), match: css("--match"), panel: css("--panel"), accent: css("--accent") };
    for (const box of boxes(width, height)) paint(ctx, box, theme);
  }

  // What is to be drawn, subtrees that are too narrow to see left out whole.
  function* boxes(width, height, top = scroller.scrollTop) {
    const { root } = state;
    const left = root < 0 ? 0 : view.x[root];
    const scale = width / ((root < 0 ? view.sum : view.total[root]) || 1);
    for (let i = root; i >= 0; i = view.parent[i]) if (i !== root) yield { i, x: 0, w: width, y: view.depth[i] * ROW - top, above: true };
    let i = Math.max(0, root);
    const last = root < 0 ? view.size : view.end[root];
    while (i < last) {
      const w = view.total[i] * scale;
      if (w < NARROW) {
        i = view.end[i];
        continue;
      }
      const y = view.depth[i] * ROW - top;
      if (y > height) {
        i = view.end[i];
        continue;
      }
      if (y > -ROW) yield { i, x: (view.x[i] - left) * scale, w, y, above: false };
      i += 1;
    }
  }

  function paint(ctx, { i, x, w, y, above }, theme) {
    const hit = state.found?.hit[i];
    const fill = state.found ? (hit ? theme.match : theme.dim) : colour(i);
    ctx.globalAlpha = above ? 0.55 : 1;
    ctx.fillStyle = fill;
    ctx.fillRect(x, y, Math.max(NARROW, w - (w > 3 ? 0.8 : 0)), ROW - 1);
    ctx.globalAlpha = 1;
    if (i === state.selected) {
      ctx.strokeStyle = theme.accent;
      ctx.lineWidth = 2;
      ctx.strokeRect(x + 1, y + 1, Math.max(1, w - 3), ROW - 3);
    }
    if (w < 26) return;
    ctx.fillStyle = !fill.startsWith("#") || fill.length !== 7 ? theme.ink : state.found && !hit ? theme.dimInk : ink(fill);
    ctx.save();
    ctx.beginPath();
    ctx.rect(x, y, w - 2, ROW);
    ctx.clip();
    ctx.fillText(fit(ctx, view.label(i), w - 6), x + 3, y + ROW / 2);
    ctx.restore();
  }

  const fitted = new Map();

  // The most telling part of a name that fits: the whole, else from the class on.
  function fit(ctx, text, room) {
    let size = fitted.get(text);
    if (size === undefined) fitted.set(text, (size = ctx.measureText(text).width));
    return size <= room ? text : brief(text);
  }

  // Depth of the deepest box that is wide enough to be drawn.
  function deepestSeen(root, width) {
    const least = (NARROW / width) * (root < 0 ? view.sum : view.total[root]);
    let deepest = root < 0 ? 0 : view.depth[root];
    const last = root < 0 ? view.size : view.end[root];
    for (let i = Math.max(0, root); i < last; i += 1) {
      if (view.total[i] < least) i = view.end[i] - 1;
      else if (view.depth[i] > deepest) deepest = view.depth[i];
    }
    return deepest;
  }

  function nodeAt(event) {
    const { clientWidth: width } = scroller;
    for (const box of boxes(width, canvas.clientHeight)) if (event.offsetY >= box.y && event.offsetY < box.y + ROW && event.offsetX >= box.x && event.offsetX < box.x + box.w) return box.i;
    return -1;
  }

  function about(i) {
    const whole = state.root < 0 ? view.sum : view.total[state.root];
    const [low, high] = wilson(view.n[i], view.samples);
    const what = view.what[i] < 0 ? null : meta.dimensions.what[view.what[i]];
    return [view.label(i), [
      ["total", `${unit(view.total[i], view.unit)} · ${percent(view.total[i] / view.sum)} of all`],
      ["95 % interval", view.samples ? `${percent(low)} – ${percent(high)} of all` : null],
      ["of the part in view", state.root < 0 ? null : percent(view.total[i] / whole)],
      ["self", `${unit(view.self[i], view.unit)} · ${percent(view.self[i] / view.sum)}`],
      ["samples", count(view.n[i])],
      ["kind of code", view.kind(i) === "group" ? null : view.kind(i)],
      ["kind of work", what && `${words(what)}${view.purity[i] < 0.995 ? ` (${percent(view.purity[i])} of it)` : ""}`],
    ]];
  }

  function tell() {
    const i = state.selected >= 0 ? state.selected : state.root;
    if (!view.size) status.textContent = "No sample meets these filters.";
    else if (i < 0) status.textContent = `${unit(view.sum, view.unit)} in ${count(view.samples)} samples.`;
    else status.textContent = [view.label(i), ...about(i)[1].filter(([, value]) => value).map(([name, value]) => `${name} ${value}`)].join(" · ");
  }

  function drawLegend() {
    const names = state.colour === "kind"
      ? Object.keys(KIND_COLOURS).map((name) => [name, KIND_COLOURS[name]])
      : [...new Set(view.what)].filter((index) => index >= 0 && meta.dimensions.what[index] !== null).map((index) => [words(meta.dimensions.what[index]), named(meta.dimensions.what[index])]).concat([["mixed", css("--mixed")]]);
    replace(legend, names.map(([name, fill]) => el("span", null, el("i", { class: "swatch", style: { background: fill } }), name)));
  }

  // The table follows when the picture has come to rest.
  let waiting = 0;
  function drawHot() {
    clearTimeout(waiting);
    waiting = setTimeout(fillHot, 60);
  }

  function fillHot() {
    const list = hottest(view, state.root).sort((a, b) => b.self - a.self).slice(0, 300);
    const whole = (state.root < 0 ? view.sum : view.total[state.root]) || 1;
    const find = (name) => el("button", { type: "button", class: "link", on: { click: () => { input.value = state.text = `^${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`; look(); } } }, el("bdi", null, name));
    replace(hot, table([
      { label: "Frame", value: (f) => f.name, show: (f) => find(f.name), class: "frame" },
      { label: "Self", value: (f) => f.self, show: (f) => unit(f.self, view.unit), number: true, help: "Spent in the frame itself." },
      { label: "Self %", value: (f) => f.self / whole, show: (f) => percent(f.self / whole), number: true },
      { label: "Total", value: (f) => f.total, show: (f) => unit(f.total, view.unit), number: true, help: "Spent in the frame and in what it called; a recursive call counts once." },
      { label: "Total %", value: (f) => f.total / whole, show: (f) => percent(f.total / whole), number: true },
      { label: "Kind", value: (f) => f.kind },
    ], list, { first: 15, sort: { column: 1, down: true }, empty: "No samples." }));
  }

  canvas.addEventListener("pointermove", (event) => {
    const i = nodeAt(event);
    canvas.style.cursor = i < 0 ? "default" : "pointer";
    if (i < 0) hideTip();
    else showTip(event.clientX, event.clientY, ...facts(...about(i)));
  });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("click", (event) => {
    const i = nodeAt(event);
    if (i >= 0) zoom(i);
  });
  canvas.addEventListener("keydown", (event) => {
    const act = { ArrowDown: child, ArrowUp: () => view.parent[state.selected], ArrowLeft: () => sibling(-1), ArrowRight: () => sibling(1) }[event.key];
    if (act) move(act());
    else if (event.key === "Enter" && state.selected >= 0) zoom(state.selected);
    else if (event.key === "Backspace") goBack();
    else if (event.key === "Escape") zoom(-1);
    else if (event.key === "/") input.focus();
    else return;
    event.preventDefault();
  });

  function move(node) {
    if (node === undefined || node < 0 || node >= view.size) return;
    state.selected = node;
    const y = view.depth[node] * ROW;
    if (y < scroller.scrollTop || y > scroller.scrollTop + scroller.clientHeight - ROW) scroller.scrollTop = Math.max(0, y - scroller.clientHeight / 2);
    tell();
    draw();
  }

  function children(node) {
    const list = [];
    const [first, last] = node < 0 ? [0, view.size] : [node + 1, view.end[node]];
    for (let i = first; i < last; i = view.end[i]) list.push(i);
    return list;
  }

  function child() {
    const from = state.selected < 0 ? state.root : state.selected;
    return children(from).reduce((best, i) => (best < 0 || view.total[i] > view.total[best] ? i : best), -1);
  }

  function sibling(by) {
    if (state.selected < 0) return -1;
    const list = children(view.parent[state.selected]);
    return list[list.indexOf(state.selected) + by];
  }

  scroller.addEventListener("scroll", () => requestAnimationFrame(draw));
  new ResizeObserver(() => requestAnimationFrame(draw)).observe(scroller.parentNode ?? scroller);
  onTheme(recolour);
  addEventListener("beforeprint", draw);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/input|select|textarea/i.test(document.activeElement?.tagName ?? "")) {
      event.preventDefault();
      input.focus();
    }
  });

  // Open on what the totals are about, the measured iterations by thread role, or on a linked view.
  const task = meta.dimensions.role?.indexOf("task") ?? -1;
  const { root = -1, ...linked } = fromLink(location.hash, meta, measured) ?? {};
  if (measured.length) state.filters.iteration = measured;
  if (task >= 0 && meta.dimensions.role.length > 1) state.groups = ["role"];
  Object.assign(state, linked);
  controls.show();
  input.value = state.text;
  rebuild();
  if (root >= 0 && root < view.size) zoom(root);
  if (linked.event) setTimeout(() => canvas.scrollIntoView());

  return el("div", { class: "flame" }, meta.note && el("p", { class: "note" }, meta.note), controls.bar, legend, scroller, status, el("h3", null, "Hottest frames"), hot);
}

// "org.apache.spark.sql.Foo$Bar.run" -> "Foo$Bar.run"; addresses of lambdas are left out.
export function brief(name) {
  const plain = name.replace(/[./]0x[0-9a-f]{6,}/, "");
  const match = /^(?:[\w$]+\.)*([\w$/\-[\]]+\.[^.]+)$/.exec(plain);
  return match ? match[1] : plain;
}
