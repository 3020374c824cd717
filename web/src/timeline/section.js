// The timeline: tracks under one another on one axis. Drag to zoom or to select a time, shift-drag to
// pan, buttons and keys for the same; the strip on top shows the whole run and which part of it is in
// view. The selected time is shared with the heat map and the flame graph.
import { css } from "../ui/colours.js";
import { el, missing, replace, section } from "../ui/dom.js";
import { onTheme } from "../ui/theme.js";
import { clock, makeAxis, ticks } from "../ui/time-axis.js";
import { facts, help, hideTip, showTip } from "../ui/tip.js";
import { numbers } from "./numbers.js";
import { makeTrack } from "./tracks.js";

const TEXT = "All events and series on one time axis that starts with the run. Drag over a track to zoom in, double-click for the whole run, Shift-drag to pan; or focus a track and use + − ← → 0.";

const SELECT_TEXT = "Click a task, a stage or a pause to select its time for the flame graph. To select any time, choose “selects time”, or Alt-drag (Ctrl-drag adds to the selection).";

// `selection` is null where nothing on the page would follow it.
export function timelineSection(timeline, columns, selection = null) {
  if (!timeline || timeline.reason || !timeline.tracks) return section("timeline", "Timeline", TEXT, missing(timeline?.reason));
  const axis = makeAxis(timeline.duration_ms);
  const brush = { selection, selects: false };
  const painters = [];
  const rows = timeline.tracks.map((track) => (track.kind === "missing"
    ? el("div", { class: "track" }, el("div", { class: "side" }, el("b", null, track.title)), missing(track.reason))
    : trackRow(track, makeTrack(track, columns, timeline.step_ms, timeline.tracks), timeline, axis, painters, brush)));
  const scale = ruler(timeline, axis, painters, selection);
  const overview = strip(timeline, columns, axis, painters, selection);
  const table = numbers(timeline, columns, axis);
  if (table) painters.push(table.update);
  const needs = timeline.needs_run?.length ? el("p", { class: "aside", id: "timeline-needs" }, "Needs ", el("code", null, "pyrometer run"), `: ${timeline.needs_run.map((title) => (/^[A-Z][a-z]/.test(title) ? title[0].toLowerCase() + title.slice(1) : title)).join(" · ")}.`) : null;
  const box = el("div", { class: "timeline" }, controls(timeline, axis, brush, table), overview, scale, rows, table?.element, needs);

  let asked = false;
  const paint = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      painters.forEach((painter) => painter());
    });
  };
  axis.onChange(paint);
  selection?.onChange(paint);
  onTheme(paint);
  new ResizeObserver(paint).observe(box);
  addEventListener("beforeprint", () => painters.forEach((painter) => painter()));
  // A little of what was before and after stays in view.
  box.addEventListener("show-evidence", ({ detail: [from, to] }) => axis.set(from - (to - from) / 20, to + (to - from) / 20));
  return section("timeline", "Timeline", selection ? `${TEXT} ${SELECT_TEXT}` : TEXT, box);
}

function controls(timeline, axis, brush, table) {
  const button = (label, title, click) => el("button", { type: "button", title, "aria-label": title, on: { click } }, label);
  const shown = el("output", { class: "aside", id: "timeline-range" });
  const update = () => { shown.textContent = `${clock(axis.from, (axis.to - axis.from) / 100)} – ${clock(axis.to, (axis.to - axis.from) / 100)} of ${clock(axis.duration, axis.duration > 6e4 ? 1e3 : 100)}`; };
  axis.onChange(update);
  update();
  const measured = timeline.marks.filter((mark) => !mark.warmup);
  return el("p", { class: "controls" },
    button("−", "Zoom out", () => axis.zoom(2)), button("+", "Zoom in", () => axis.zoom(0.5)),
    button("←", "Earlier", () => axis.pan(-0.4)), button("→", "Later", () => axis.pan(0.4)), button("Whole run", "Show the whole run", axis.reset),
    measured.length > 0 && button("Measured", "Show the measured iterations", () => axis.set(measured[0].start_ms, measured.at(-1).end_ms)),
    brush.selection && selecting(axis, brush, button),
    table && asTable(table),
    timeline.marks.slice(0, 12).map((mark) => button(mark.warmup ? `w${mark.iteration}` : `${mark.iteration}`, `Show ${mark.warmup ? "warm-up " : ""}iteration ${mark.iteration}`, () => axis.set(mark.start_ms, mark.end_ms))),
    shown);
}

// A button that shows the numbers below the tracks.
function asTable({ element, update }) {
  const button = el("button", { type: "button", id: "timeline-as-table", "aria-pressed": "false", "aria-controls": "timeline-table", on: { click: () => {
    element.hidden = !element.hidden;
    button.setAttribute("aria-pressed", String(!element.hidden));
    update();
    if (!element.hidden) element.scrollIntoView({ block: "nearest" });
  } } }, "Show as table");
  return button;
}

// What a drag does, and the selection by buttons.
function selecting(axis, brush, button) {
  const { selection } = brush;
  const modes = [[false, "zooms"], [true, "selects time"]].map(([selects, label]) => el("button", { type: "button", data: { drag: selects ? "select" : "zoom" }, "aria-pressed": String(brush.selects === selects), on: { click: () => { brush.selects = selects; modes.forEach((other) => other.setAttribute("aria-pressed", String((other.dataset.drag === "select") === selects))); } } }, label));
  const clear = button("Clear selection", "Clear the selection: the flame graph shows all of the run", selection.clear);
  const able = () => { clear.disabled = selection.empty; };
  selection.onChange(able);
  able();
  return [el("span", { class: "aside" }, "Dragging"), el("span", { class: "segments", role: "group", "aria-label": "What dragging over a track does" }, modes), button("Select view", "Select the time in view", () => selection.set([[axis.from, axis.to]])), clear];
}

// The selected time over a track.
function selected(ctx, width, height, axis, selection) {
  for (const range of selection?.ranges ?? []) {
    const [from, to] = range.map((ms) => axis.x(ms, width));
    ctx.fillStyle = css("--brush");
    ctx.fillRect(from, 0, Math.max(1, to - from), height);
    ctx.fillStyle = css("--accent");
    ctx.fillRect(from, 0, 1, height);
    ctx.fillRect(Math.max(from, to - 1), 0, 1, height);
  }
}

// A canvas as wide as its place, in device pixels; draw(ctx, width, height) in CSS pixels.
function surface(height, draw, props) {
  const canvas = el("canvas", { ...props, style: { height: `${height}px` } });
  const paint = () => {
    const width = canvas.clientWidth;
    if (!width) return;
    const ratio = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const ctx = canvas.getContext("2d");
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, width, height);
    ctx.font = `11px ${css("--sans")}`;
    draw(ctx, width, height);
  };
  return { canvas, paint };
}

// Bands of iterations and lines of time behind every track.
function backdrop(ctx, width, height, timeline, axis) {
  for (const mark of timeline.marks) {
    const [from, to] = [axis.x(mark.start_ms, width), axis.x(mark.end_ms, width)];
    ctx.fillStyle = css(mark.warmup ? "--band-warm" : "--band");
    ctx.fillRect(from, 0, to - from, height);
    ctx.fillStyle = css("--rail");
    ctx.fillRect(from, 0, 1, height);
    ctx.fillRect(to, 0, 1, height);
  }
  ctx.fillStyle = css("--grid");
  for (const tick of ticks(axis.from, axis.to, width)) ctx.fillRect(Math.round(axis.x(tick.ms, width)), 0, 1, height);
}

function ruler(timeline, axis, painters, selection) {
  const { canvas, paint } = surface(34, (ctx, width, height) => {
    backdrop(ctx, width, height, timeline, axis);
    ctx.fillStyle = css("--ink-dim");
    for (const tick of ticks(axis.from, axis.to, width)) ctx.fillText(tick.label, axis.x(tick.ms, width) + 4, 28);
    for (const mark of timeline.marks) {
      const [from, to] = [Math.max(0, axis.x(mark.start_ms, width)), Math.min(width, axis.x(mark.end_ms, width))];
      if (to - from < 16) continue;
      const label = `${mark.warmup ? "warm-up " : to - from > 80 ? "iteration " : ""}${mark.iteration}`;
      ctx.fillStyle = css("--ink");
      ctx.fillText(label, from + 4, 12, to - from - 6);
    }
    selected(ctx, width, height, axis, selection);
  }, { "aria-hidden": "true" });
  painters.push(paint);
  return el("div", { class: "track ruler" }, el("div", { class: "side" }), canvas);
}

// The whole run in one strip; the part in view is marked. Drag in it to choose a part.
function strip(timeline, columns, axis, painters, selection) {
  const running = timeline.tracks.find((track) => track.id === "running");
  const values = running && columns[running.series[0].value];
  const top = values ? values.reduce((most, value) => Math.max(most, value), 1) : 1;
  const { canvas, paint } = surface(26, (ctx, width, height) => {
    const whole = { from: 0, to: axis.duration, x: (ms) => (ms / axis.duration) * width };
    backdrop(ctx, width, height, timeline, { ...whole, x: (ms) => whole.x(ms) });
    if (values) {
      ctx.fillStyle = css("--ink-faint");
      for (let i = 0; i < values.length; i += 1) {
        const tall = (values[i] / top) * (height - 4);
        ctx.fillRect((i / values.length) * width, height - tall, Math.max(1, width / values.length), tall);
      }
    }
    selected(ctx, width, height, whole, selection);
    ctx.fillStyle = css("--veil");
    ctx.fillRect(0, 0, whole.x(axis.from), height);
    ctx.fillRect(whole.x(axis.to), 0, width, height);
    ctx.strokeStyle = css("--accent");
    ctx.strokeRect(whole.x(axis.from) + 0.5, 0.5, whole.x(axis.to) - whole.x(axis.from) - 1, height - 1);
  }, { "aria-hidden": "true" });
  let start = null;
  const at = (event) => (event.offsetX / canvas.clientWidth) * axis.duration;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    start = at(event);
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => { if (start !== null && Math.abs(at(event) - start) > axis.duration / 400) axis.set(Math.min(start, at(event)), Math.max(start, at(event))); });
  canvas.addEventListener("pointerup", (event) => {
    if (start !== null && Math.abs(at(event) - start) <= axis.duration / 400) axis.set(start - (axis.to - axis.from) / 2, start + (axis.to - axis.from) / 2);
    start = null;
  });
  canvas.addEventListener("pointercancel", () => { start = null; });
  painters.push(paint);
  return el("div", { class: "track strip" }, el("div", { class: "side" }, el("span", { class: "aside" }, "whole run")), canvas);
}

function trackRow(track, painter, timeline, axis, painters, mode) {
  const { selection } = mode;
  const legend = el("div", { class: "legend" });
  let brush = null;
  const { canvas, paint } = surface(painter.height, (ctx, width, height) => {
    backdrop(ctx, width, height, timeline, axis);
    painter.draw(ctx, width, height, axis);
    selected(ctx, width, height, axis, selection);
    if (brush) {
      ctx.fillStyle = css("--brush");
      ctx.fillRect(Math.min(brush.from, brush.to), 0, Math.abs(brush.to - brush.from), height);
    }
    if (axis.cursor !== null) {
      ctx.fillStyle = css("--ink-dim");
      ctx.fillRect(Math.round(axis.x(axis.cursor, width)), 0, 1, height);
    }
    replace(legend, painter.legend(axis.cursor).map((item) => el("span", null, el("i", { class: "swatch", style: { background: item.colour } }), el("span", null, item.label), " ", el("b", null, item.value))));
  }, { tabindex: "0", role: "img", "aria-label": `${track.title}. ${track.help ?? ""}`, data: { track: track.id } });
  painters.push(paint);

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    brush = { from: event.offsetX, to: event.offsetX, pan: event.shiftKey, selects: selection && (mode.selects || event.altKey), more: event.ctrlKey || event.metaKey, axis: [axis.from, axis.to] };
  });
  canvas.addEventListener("pointermove", (event) => {
    const width = canvas.clientWidth;
    axis.cursor = axis.at(event.offsetX, width);
    if (brush?.pan) {
      const by = ((brush.from - event.offsetX) / width) * (brush.axis[1] - brush.axis[0]);
      axis.set(brush.axis[0] + by, brush.axis[1] + by);
    } else if (brush) brush.to = event.offsetX;
    const hit = brush ? null : painter.at(axis.cursor, event.offsetY, ((axis.to - axis.from) / width) * 4);
    if (hit) showTip(event.clientX, event.clientY, ...facts(hit[0], [...hit[1], ["at", clock(axis.cursor)]]));
    else hideTip();
    axis.changed();
  });
  canvas.addEventListener("pointerup", (event) => {
    const done = brush;
    brush = null;
    if (!done || done.pan) axis.changed();
    else if (Math.abs(done.to - done.from) > 4) {
      const range = [done.from, done.to].map((x) => axis.at(x, canvas.clientWidth)).sort((a, b) => a - b);
      if (!done.selects) axis.set(...range);
      else if (done.more) selection.add(range);
      else selection.set([range]);
    } else {
      const meant = selection && painter.at(axis.at(event.offsetX, canvas.clientWidth), event.offsetY, ((axis.to - axis.from) / canvas.clientWidth) * 4)?.[2];
      if (!meant) axis.changed();
      else if (done.more) selection.add(meant.range);
      else selection.set([meant.range], meant.focus);
    }
  });
  canvas.addEventListener("pointercancel", () => { brush = null; axis.changed(); });
  canvas.addEventListener("pointerleave", () => { axis.cursor = null; hideTip(); axis.changed(); });
  canvas.addEventListener("dblclick", axis.reset);
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    axis.zoom(event.deltaY > 0 ? 1.25 : 0.8, axis.at(event.offsetX, canvas.clientWidth));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const act = { "+": () => axis.zoom(0.5), "=": () => axis.zoom(0.5), "-": () => axis.zoom(2), ArrowLeft: () => axis.pan(-0.2), ArrowRight: () => axis.pan(0.2), 0: axis.reset, ...(selection && { s: () => selection.set([[axis.from, axis.to]]), Escape: selection.clear }) }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  return el("div", { class: "track" },
    el("div", { class: "side" }, el("span", null, el("b", null, track.title), help(track.help)), legend, track.note && el("span", { class: "note" }, track.note)),
    canvas);
}
