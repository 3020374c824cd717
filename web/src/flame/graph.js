// The flame graph: boxes as wide as what was spent in them, and controls of what is shown.
import { css } from "../ui/colours.js";
import { el, replace } from "../ui/dom.js";
import { count, percent, unit, wilson, words } from "../ui/format.js";
import { onTheme } from "../ui/theme.js";
import { brief, flameCanvas, ROW } from "./canvas.js";
import { colouring } from "./colouring.js";
import { flameControls } from "./controls.js";
import { drawing, save } from "./export.js";
import { follow, onlyMatch, pathOf, pattern, placeOf, search } from "./frames.js";
import { fromLink, toLink } from "./link.js";
import { BOTH, bothOf, makeView, opening } from "./model.js";
import { sandwich } from "./sandwich.js";
import { makeZoom } from "./zoom.js";

const TALLEST = 1300;
const BOTH_TEXT = {
  wall: "Time on a CPU comes from CPU samples, all other time of task threads from wall-clock samples taken while they were not running: nothing is counted twice. A thread that waits for a CPU is in neither.",
  state: "Time on a CPU comes from CPU samples, all other time, waiting for a CPU included, from the thread states that the OS probe saw: nothing is counted twice. Kernel frames stand below the Java stack. Idle threads outside tasks are left out.",
};

// `time` selects a part of the time: part(query) gives what of a query it replaces, linked() and
// restore(words) are for links, onChange(listener) reports a change of selection. `more()` brings the
// frames of light stacks, where those come later.
export function flameGraph(model, window, time = null, more = null) {
  const { meta } = model;
  const state = { event: meta.event_names[0], filters: {}, groups: [], weight: "time", inverted: false, upright: false, runners: false, colour: "what", lit: null, text: "" };
  let [all, found] = [null, null]; // all boxes of the view; what the search found
  let awaited = -1; // the box of a link, until its frames have come
  const measured = (window?.iterations ?? []).map((number) => meta.dimensions.iteration.indexOf(number)).filter((index) => index >= 0);

  const picture = flameCanvas({
    id: "flame-canvas",
    label: "Flame graph; the selected frame is read out below",
    tallest: () => Math.max(400, Math.round(innerHeight * 0.85), TALLEST),
    look: { pick, moved: describe, key: pressed },
  });
  const zoom = makeZoom("flame", go, (text) => { state.text = text; look(); });
  const status = el("p", { class: "flame-status", "aria-live": "polite", id: "flame-status" });
  const note = el("p", { class: "note", id: "flame-both" }, BOTH_TEXT[bothOf(meta)[1]]);
  const legend = el("div", { class: "legend", role: "group", "aria-label": "Colours; press one to highlight its boxes" });
  const keep = [
    ["Link", "Put this view into the page's address", link],
    ["PNG", "Save the visible part as a picture", () => picture.canvas.toBlob((blob) => save(blob, "flame.png"))],
    ["SVG", "Save this whole view as a picture with searchable text", () => save(new Blob([svgText()], { type: "image/svg+xml" }), "flame.svg")],
  ].map(([name, title, click]) => el("button", { type: "button", title, data: { keep: name.toLowerCase() }, on: { click } }, name));
  const frames = sandwich(lookOf);
  const controls = flameControls(model, state, measured, { rebuild, recolour, turn, fold, more: [zoom.controls, keep] });

  function link() {
    history.replaceState(null, "", toLink({ ...state, at: awaited >= 0 ? awaited : zoom.at, ...time?.linked() }, meta, measured));
    status.textContent = "The address of this page now leads to this view.";
  }

  function svgText() {
    const width = 1200;
    const rows = picture.rowsSeen(width);
    const boxes = [...picture.boxes(width, rows * ROW, 0, rows)];
    return drawing(width, rows * ROW, ROW, boxes.map((box) => ({ ...box, fill: picture.look.fill(box.i), label: picture.view.label(box.i), title: lines(picture, box.i).join("\n") })));
  }

  // How boxes of a view look in the chosen colour mode.
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

  // A folded box unfolds, any other fills the width.
  function pick(i) {
    const id = picture.view.id[i];
    if (!picture.view.folded(i)) zoom.to(id);
    else {
      all = all.unfold(id) ?? all;
      go();
      picture.move(placeOf(picture.view, id));
    }
  }

  // While a link's box is awaited all may be in view already: Escape then draws nothing, but is a choice too.
  function pressed(key) {
    if (key === "Escape") awaited = -1;
    return zoom.pressed(key);
  }

  function fold() {
    const { at } = zoom;
    rebuild();
    if (at >= 0) zoom.start(at);
  }

  function rebuild() {
    const groups = state.groups.filter((name, level) => name && state.groups.indexOf(name) === level);
    const weight = meta.critical && (state.event === BOTH || meta.critical.includes(state.event)) ? state.weight : "time";
    const turned = state.inverted && complete();
    const query = { event: state.event, filters: state.filters, groups, weight, inverted: turned, open: turned || state.runners ? null : new Set() };
    const zoomed = all ? pathOf(picture.view, picture.root) : [];
    all = makeView(model, { ...query, ...time?.part(query) });
    state.lit = null;
    note.hidden = state.event !== BOTH;
    zoom.start(follow(all, zoomed));
    drawLegend();
  }

  const complete = () => model.there === model.frame.length;

  // Frames that come later: until then there is no search, no inversion and no table.
  async function deepen(more) {
    try {
      model.deepen(await more());
    } catch (error) {
      status.textContent = `This browser could not unpack the lightest stacks (${error.message}): search and table are not available.`;
      return;
    }
    if (state.inverted) {
      const box = awaited;
      rebuild();
      if (box >= 0) zoom.to(box);
    } else {
      look();
      drawFrames();
    }
  }

  // Draw what the zoom says: whoever goes elsewhere no longer waits for the box of a link.
  function go() {
    awaited = -1;
    // A link, or a search, may lead to a frame that is folded.
    let view = all.zoom(zoom.at) ?? all;
    const unfolded = placeOf(view, zoom.at) < 0 ? all.unfold(zoom.at) : null;
    if (unfolded) {
      all = unfolded;
      view = all.zoom(zoom.at) ?? all;
    }
    picture.upright = state.upright;
    Object.assign(picture.look, lookOf(view));
    picture.view = view;
    picture.root = placeOf(view, zoom.at);
    look(false);
    picture.show(view, picture.root);
    describe(picture.root);
    drawFrames();
  }

  function look(redraw = true) {
    const { view, root } = picture;
    const wanted = complete() && pattern(state.text);
    found = wanted && view.size ? search(view, wanted, root) : null;
    const lit = state.lit === null ? null : picture.look.colours.share(state.lit, root);
    zoom.share.textContent = found ? zoom.matched(found) : lit === null ? "" : `${percent(lit)} highlighted`;
    if (redraw) picture.draw();
  }

  function about(view, i) {
    // Shares are of what is in view, with their intervals; of everything besides, where that is more.
    const root = view === picture.view ? picture.root : -1;
    const of = (whole, n) => {
      const [low, high] = wilson((view.total[i] / whole) * n, n);
      return `${percent(view.total[i] / whole)}${n ? ` (95 %: ${percent(low)} – ${percent(high)})` : ""}`;
    };
    const { index, share: part } = view.dominant(i, "what");
    const what = meta.dimensions.what[index] ?? null;
    const folded = view.folded(i);
    return [view.label(i), [
      ["folded", folded && `${[...folded.names()].slice(0, 4).map((one) => brief(view.name(one))).join(", ")}, … (a click or Enter opens it)`],
      ["total", unit(view.total[i], view.unit)],
      ["share of the part in view", root >= 0 && view.total[i] < view.total[root] ? of(view.total[root], view.effectiveOf(root)) : null],
      ["share of all shown", of(view.sum, view.effective)],
      ["self", `${unit(view.self[i], view.unit)} · ${percent(view.self[i] / view.sum)} of all shown`],
      ["samples", count(view.n[i])],
      ["kind of code", view.kind(i) === "group" ? null : view.kind(i)],
      ["kind of work", what && `${words(what)}${part < 0.995 ? ` (${percent(part)} of it)` : ""}`],
    ]];
  }

  const lines = (canvas, i) => {
    const [title, pairs] = canvas.look.about(i);
    return [title, ...pairs.filter(([, value]) => value).map(([name, value]) => `${name} ${value}`)];
  };

  function describe(i) {
    if (!all.size) status.textContent = "No samples match these filters.";
    else status.textContent = i < 0 ? `${unit(all.sum, all.unit)} in ${count(all.samples)} samples.` : lines(picture, i).join(" · ");
  }

  function drawLegend() {
    const { colours } = picture.look;
    const press = (key) => {
      state.lit = state.lit === key ? null : key;
      zoom.input.value = state.text = "";
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
      zoom.input.focus();
    }
  });
  zoom.input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") picture.canvas.focus();
  });

  // Open on a linked view; else on what the totals are about, the measured iterations, and of these on the
  // threads of tasks by operator and expression, where there are any.
  const { root = -1, ...linked } = fromLink(location.hash, meta, measured) ?? fromLink(meta.opening ?? "", meta, measured) ?? {};
  if (measured.length) state.filters.iteration = measured;
  const start = opening(model, state);
  Object.assign(state, { groups: start.groups, filters: { ...state.filters, ...start.filters } }, linked);
  controls.show();
  zoom.input.value = state.text;
  time?.restore(linked);
  rebuild();
  if (state.inverted && !complete()) awaited = root;
  else if (root >= 0) zoom.to(root);
  if (location.hash && linked.event) setTimeout(() => picture.canvas.scrollIntoView());
  time?.onChange(rebuild);

  // What a finding points to: an event, code that is found by name, a kind of work that is lit.
  const pointed = ({ event, stage, find, what }) => {
    const at = (name, value) => meta.dimensions[name]?.findIndex((one) => value !== undefined && String(one) === String(value)) ?? -1;
    const shown = { event: meta.event_names.includes(event) ? event : meta.event_names[0], weight: "time", colour: "what", inverted: false };
    Object.assign(state, shown, { text: find ? find.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") : "" });
    const start = opening(model, { ...state, filters: {} });
    Object.assign(state, { groups: start.groups, filters: { ...(measured.length && { iteration: measured }), ...start.filters } });
    if (at("stage", stage) >= 0) state.filters.stage = [at("stage", stage)];
    controls.show();
    zoom.input.value = state.text;
    zoom.start();
    rebuild();
    const box = found ? onlyMatch(found, picture.view) : -1;
    if (box >= 0) zoom.to(picture.view.id[box]);
    if (at("what", what) >= 0) legend.querySelector(`[data-key="${at("what", what)}"]`)?.click();
  };
  if (!complete()) requestAnimationFrame(() => setTimeout(() => deepen(more), 0));

  return el("div", { class: "flame", on: { "show-evidence": ({ detail }) => pointed(detail) } }, meta.note && el("p", { class: "note" }, meta.note), controls.bar, time?.element, note, legend, picture.node, status, el("h3", null, "Frames"), frames.node);
}
