// The flame graph: boxes as wide as what was spent in them, and controls of what is shown.
import { el, missing, replace, section } from "./dom.js";
import { css } from "./colours.js";
import { count, percent, unit, wilson, words } from "./format.js";
import { flameCanvas, ROW } from "./flame-canvas.js";
import { colouring } from "./flame-colours.js";
import { flameControls } from "./flame-controls.js";
import { drawing, save } from "./flame-export.js";
import { fromLink, toLink } from "./flame-link.js";
import { BOTH, bothOf, loadFlame, makeView } from "./flame-model.js";
import { sandwich } from "./flame-sandwich.js";
import { follow, pathOf, pattern, placeOf, search } from "./flame-table.js";
import { onTheme } from "./theme.js";

const TALLEST = 1300;
const TEXT = "Every sample is a stack of calls; equal stacks are joined, callers above callees. The wider a box, the more was spent in it and what it called. By critical time a sample of a task weighs less the more tasks ran beside it: what elapsed time depends on. Click a box to zoom into it. Keys: arrows move, Enter zooms, Backspace goes back, Escape shows all, / searches.";
const BOTH_TEXT = {
  wall: "Time on a CPU is told by samples of the CPU, all other time of task threads by samples of their wall time while they did not run: nothing is counted twice. A thread that waits for a CPU is in neither.",
  state: "Time on a CPU is told by samples of the CPU, all other time by the states in which the OS probe saw the threads, waiting for a CPU among them: nothing is counted twice. Frames of the kernel stand below the Java stack. Idle threads outside tasks are left out.",
};

// `timeOf(model)`, if given, makes what selects a part of the time: its element, part(query) (what of
// a query it replaces), linked() and restore(words) for links, onChange(listener).
export function flameSection(meta, columns, window, timeOf = null) {
  if (!meta || meta.reason || !meta.nodes_count) return section("flame", "Flame graph", TEXT, missing(meta?.reason ?? "The profiler delivered no samples."));
  const model = loadFlame(meta, columns);
  return section("flame", "Flame graph", TEXT, flameGraph(model, window, timeOf?.(model), columns.more));
}

export function flameGraph(model, window, time = null, more = null) {
  const { meta } = model;
  // at: number of the box that fills the width (-1: all); back: those before it.
  const state = { event: meta.event_names[0], filters: {}, groups: [], weight: "time", inverted: false, upright: false, colour: "what", at: -1, back: [], lit: null, text: "" };
  let [all, found] = [null, null]; // all boxes of the view; what the search found
  const measured = (window?.iterations ?? []).map((number) => meta.dimensions.iteration.indexOf(number)).filter((index) => index >= 0);

  const picture = flameCanvas({
    id: "flame-canvas",
    label: "Flame graph; the selected frame is read out below",
    tallest: () => Math.max(400, Math.round(innerHeight * 0.85), TALLEST),
    look: { pick: (i) => zoom(picture.view.id[i]), moved: tell, key: pressed },
  });
  const status = el("p", { class: "flame-status", "aria-live": "polite", id: "flame-status" });
  const note = el("p", { class: "note", id: "flame-both" }, BOTH_TEXT[bothOf(meta)[1]]);
  const share = el("output", { class: "aside", id: "flame-share" });
  const legend = el("div", { class: "legend", role: "group", "aria-label": "Colours; press one to highlight its boxes" });
  const input = el("input", { type: "search", id: "flame-search", placeholder: "Search (regex)", "aria-label": "Search frames by regular expression", on: { input: () => { state.text = input.value; look(); } } });
  const back = el("button", { type: "button", id: "flame-back", on: { click: goBack } }, "Back");
  const reset = el("button", { type: "button", id: "flame-reset", on: { click: () => zoom(-1) } }, "Reset zoom");
  const keep = [
    ["Link", "Put this view into the page's address", link],
    ["PNG", "Save what is in view as a picture", () => picture.canvas.toBlob((made) => save(made, "flame.png"))],
    ["SVG", "Save the whole of this view as a picture whose text can be searched", () => save(new Blob([svgText()], { type: "image/svg+xml" }), "flame.svg")],
  ].map(([name, title, click]) => el("button", { type: "button", title, data: { keep: name.toLowerCase() }, on: { click } }, name));
  const frames = sandwich(lookOf);
  const controls = flameControls(model, state, measured, { rebuild, recolour, turn, more: [input, share, back, reset, keep] });

  function link() {
    history.replaceState(null, "", toLink({ ...state, ...time?.linked() }, meta, measured));
    status.textContent = "The address of this page brings back this view.";
  }

  function svgText() {
    const width = 1200;
    const rows = picture.rowsSeen(width);
    const boxes = [...picture.boxes(width, rows * ROW, 0, rows)];
    return drawing(width, rows * ROW, ROW, boxes.map((box) => ({ ...box, fill: picture.look.fill(box.i), label: picture.view.label(box.i), title: told(picture, box.i).join("\n") })));
  }

  // How boxes of a view look in the mode of colours that was chosen.
  function lookOf(view) {
    const [mixed, panel] = [css("--mixed"), css("--panel-2")];
    const colours = colouring(view, state.colour, mixed);
    return {
      colours,
      fill: (i) => {
        const key = colours.key(i);
        return key === null ? panel : colours.fill(key);
      },
      lit: (i) => {
        if (found && view === picture.view) return Boolean(found.hit[i]);
        return state.lit === null ? null : colours.key(i) === state.lit;
      },
      match: (i) => (found && view === picture.view ? null : colours.fill(colours.key(i))),
      about: (i) => about(view, i),
    };
  }

  function recolour() {
    state.lit = null;
    Object.assign(picture.look, lookOf(picture.view));
    drawLegend();
    look();
    drawFrames();
  }

  function turn() {
    picture.upright = state.upright;
    picture.show(picture.view, picture.root);
  }

  function rebuild() {
    const groups = state.groups.filter((name, level) => name && state.groups.indexOf(name) === level);
    const weight = meta.critical && (state.event === BOTH || meta.critical.includes(state.event)) ? state.weight : "time";
    const query = { event: state.event, filters: state.filters, groups, weight, inverted: state.inverted && complete() };
    const zoomed = all ? pathOf(picture.view, picture.root) : [];
    all = makeView(model, { ...query, ...time?.part(query) });
    Object.assign(state, { at: follow(all, zoomed), back: [], lit: null });
    note.hidden = state.event !== BOTH;
    go();
    drawLegend();
  }

  const complete = () => model.there === model.frame.length;

  // Frames that come later: until then nothing is sought, turned over or listed.
  async function deepen(more) {
    try {
      model.deepen(await more());
    } catch (error) {
      status.textContent = `The lightest stacks could not be unpacked by this browser (${error.message}): there is no search, and no table.`;
      return;
    }
    if (state.inverted) rebuild();
    else {
      look();
      drawFrames();
    }
  }

  // Draw what `state.at` says.
  function go() {
    const view = all.zoom(state.at) ?? all;
    picture.upright = state.upright;
    Object.assign(picture.look, lookOf(view));
    picture.view = view;
    picture.root = placeOf(view, state.at);
    look(false);
    picture.show(view, picture.root);
    tell(picture.root);
    back.disabled = state.back.length === 0;
    reset.disabled = state.at < 0;
    drawFrames();
  }

  function look(redraw = true) {
    const { view, root } = picture;
    const wanted = complete() && pattern(state.text);
    found = wanted && view.size ? search(view, wanted, root) : null;
    const lit = state.lit === null ? null : picture.look.colours.share(state.lit, root);
    share.textContent = found ? `${percent(found.share)} matched (${count(found.frames)} frames)` : lit === null ? "" : `${percent(lit)} highlighted`;
    if (redraw) picture.draw();
  }

  function zoom(id, remember = true) {
    if (id === state.at) return;
    if (remember) state.back.push(state.at);
    state.at = id;
    go();
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

  function about(view, i) {
    const ratio = view.total[i] / view.sum;
    const inView = view === picture.view && picture.root >= 0 ? view.total[picture.root] : null;
    const [low, high] = wilson(ratio * view.effective, view.effective);
    const { index, share: part } = view.dominant(i, "what");
    const what = meta.dimensions.what[index] ?? null;
    return [view.label(i), [
      ["total", `${unit(view.total[i], view.unit)} · ${percent(ratio)} of all`],
      ["95 % interval", view.effective ? `${percent(low)} – ${percent(high)} of all` : null],
      ["of the part in view", inView && percent(view.total[i] / inView)],
      ["self", `${unit(view.self[i], view.unit)} · ${percent(view.self[i] / view.sum)}`],
      ["samples", count(view.n[i])],
      ["kind of code", view.kind(i) === "group" ? null : view.kind(i)],
      ["kind of work", what && `${words(what)}${part < 0.995 ? ` (${percent(part)} of it)` : ""}`],
    ]];
  }

  const told = (canvas, i) => {
    const [title, pairs] = canvas.look.about(i);
    return [title, ...pairs.filter(([, value]) => value).map(([name, value]) => `${name} ${value}`)];
  };

  function tell(i) {
    if (!all.size) status.textContent = "No sample meets these filters.";
    else status.textContent = i < 0 ? `${unit(all.sum, all.unit)} in ${count(all.samples)} samples.` : told(picture, i).join(" · ");
  }

  function drawLegend() {
    const { colours } = picture.look;
    const press = (key) => {
      state.lit = state.lit === key ? null : key;
      input.value = state.text = "";
      look();
      frames.redraw();
      for (const button of legend.children) button.setAttribute("aria-pressed", String(button.dataset.key === String(state.lit)));
    };
    replace(legend, colours.entries.map(([key, name]) => el("button", { type: "button", class: "key", "aria-pressed": "false", data: { key }, on: { click: () => press(key) } }, el("i", { class: "swatch", style: { background: colours.fill(key) } }), name)));
  }

  // The table follows when the picture has come to rest.
  let waiting = 0;
  function drawFrames() {
    clearTimeout(waiting);
    waiting = setTimeout(() => complete() && frames.show(picture.view, picture.root), 60);
  }

  onTheme(() => {
    Object.assign(picture.look, lookOf(picture.view));
    picture.draw();
    drawLegend();
    frames.redraw();
  });
  addEventListener("beforeprint", () => picture.draw());
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/input|select|textarea/i.test(document.activeElement?.tagName ?? "")) {
      event.preventDefault();
      input.focus();
    }
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") picture.canvas.focus();
  });

  // Open on what the totals are about, the measured iterations by thread role, or on a linked view.
  const task = meta.dimensions.role?.indexOf("task") ?? -1;
  const { root = -1, ...linked } = fromLink(location.hash, meta, measured) ?? fromLink(meta.opening ?? "", meta, measured) ?? {};
  if (measured.length) state.filters.iteration = measured;
  if (task >= 0 && meta.dimensions.role.length > 1) state.groups = ["role"];
  Object.assign(state, linked);
  controls.show();
  input.value = state.text;
  time?.restore(linked);
  rebuild();
  if (root >= 0) zoom(root);
  if (location.hash && linked.event) setTimeout(() => picture.canvas.scrollIntoView());
  time?.onChange(rebuild);
  if (!complete()) requestAnimationFrame(() => setTimeout(() => deepen(more), 0));

  return el("div", { class: "flame" }, meta.note && el("p", { class: "note" }, meta.note), controls.bar, time?.element, note, legend, picture.node, status, el("h3", null, "Frames"), frames.node);
}
