// Boxes of a flame graph on a canvas: drawing, pointing, and moving by keys.
import { el } from "../ui/dom.js";
import { css, ink } from "../ui/colours.js";
import { pixelStrip } from "./pixels.js";
import { facts, hideTip, showTip } from "../ui/tip.js";

export const ROW = 18;
const NARROW = 0.5; // px: what is narrower is not drawn
const LETTERS = 26; // px: a narrower box has no text

// `look`: fill(i) and lit(i) (true: matches, false: does not, null: nothing is sought), about(i) for
// the tip, pick(i) when a box is chosen, moved(i) when the selection went there by key.
// `tallest` bounds the height in px; `upright`: the root stands at the bottom.
export function flameCanvas({ id, label, look, tallest }) {
  const canvas = el("canvas", { tabindex: "0", role: "application", "aria-label": label, id });
  const spacer = el("div", { class: "spacer" });
  const scroller = el("div", { class: "flame-scroll" }, canvas, spacer);
  const self = { node: scroller, canvas, look, view: null, root: -1, selected: -1, upright: false, show, draw, boxes, rowsSeen, move };
  const strip = pixelStrip();
  let rows = 1;

  // Other boxes, or another box `root` over the whole width.
  function show(view, root = -1) {
    Object.assign(self, { view, root, selected: root });
    scroller.scrollTop = 0;
    draw();
    if (self.upright) scroller.scrollTop = scroller.scrollHeight;
  }

  function draw() {
    const { view } = self;
    const width = scroller.clientWidth;
    if (!width || !view) return;
    rows = rowsSeen(width);
    spacer.style.height = `${rows * ROW}px`;
    const height = Math.min(rows * ROW + 2, tallest());
    scroller.style.height = `${height}px`;
    const ratio = devicePixelRatio || 1;
    const [columns, lines] = [width, height].map((size) => Math.round(size * ratio));
    if (canvas.width !== columns || canvas.height !== lines) {
      [canvas.width, canvas.height] = [columns, lines];
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    const ctx = canvas.getContext("2d");
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, width, height);
    const theme = { ink: css("--ink"), dim: css("--unmatched"), dimInk: css("--ink-dim"), match: css("--match") };
    const top = Math.floor(scroller.scrollTop / ROW) * ROW - scroller.scrollTop; // of the first row in view
    const named = [];
    let chosen = null;
    strip.begin(columns, Math.ceil((height - top) / ROW));
    for (const box of boxes(width, height)) {
      const lit = look.lit(box.i);
      const fill = lit === null ? look.fill(box.i) : lit ? look.match?.(box.i) ?? theme.match : theme.dim;
      strip.add(Math.round((box.y - top) / ROW), box.x * ratio, box.w * ratio, fill, box.above ? 0.55 : 1);
      if (box.w >= LETTERS) named.push([box, box.above ? theme.ink : lit === false ? theme.dimInk : ink(fill)]);
      if (box.i === self.selected) chosen = box;
    }
    strip.drawOn(ctx, top, width, ROW);
    write(ctx, named);
    if (chosen) {
      ctx.strokeStyle = css("--accent");
      ctx.lineWidth = 2;
      ctx.strokeRect(chosen.x + 1, chosen.y + 1, Math.max(1, chosen.w - 3), ROW - 3);
    }
  }

  // What is to be drawn, subtrees that are too narrow to see left out whole.
  function* boxes(width, height, top = scroller.scrollTop, of = rows) {
    const { view, root, upright } = self;
    const left = root < 0 ? 0 : view.x[root];
    const scale = width / ((root < 0 ? view.sum : view.total[root]) || 1);
    const level = (i) => (upright ? of - 1 - view.depth[i] : view.depth[i]) * ROW - top;
    for (let i = root < 0 ? -1 : view.parent[root]; i >= 0; i = view.parent[i]) yield { i, x: 0, w: width, y: level(i), above: true };
    const last = root < 0 ? view.size : view.end[root];
    for (let i = Math.max(0, root); i < last;) {
      const w = view.total[i] * scale;
      const y = level(i);
      // What it calls lies beyond the edge, too.
      if (w < NARROW || (upright ? y < -ROW : y > height)) {
        i = view.end[i];
        continue;
      }
      if (y > -ROW && y <= height) yield { i, x: (view.x[i] - left) * scale, w, y, above: false };
      i += 1;
    }
  }

  // Rows down to the deepest box that is wide enough to be drawn.
  function rowsSeen(width) {
    const { view, root } = self;
    const least = (NARROW / width) * (root < 0 ? view.sum : view.total[root]);
    let deepest = root < 0 ? 0 : view.depth[root];
    const last = root < 0 ? view.size : view.end[root];
    for (let i = Math.max(0, root); i < last; i += 1) {
      if (view.total[i] < least) i = view.end[i] - 1;
      else if (view.depth[i] > deepest) deepest = view.depth[i];
    }
    return deepest + 1;
  }

  function write(ctx, named) {
    ctx.font = `11.5px ${css("--sans")}`;
    ctx.textBaseline = "middle";
    for (const [{ i, x, y, w }, colour] of named) {
      ctx.fillStyle = colour;
      ctx.fillText(fit(ctx, self.view.label(i), w - 6), x + 3, y + ROW / 2);
    }
  }

  const widths = new Map();

  // The most specific part of a name that fits: the whole, else from the class on, else its beginning.
  function fit(ctx, text, room) {
    let shown = text;
    if (wide(ctx, shown) > room) shown = brief(text);
    const width = wide(ctx, shown);
    return width <= room ? shown : `${shown.slice(0, Math.max(1, Math.floor((shown.length * (room - 8)) / width)))}…`;
  }

  function wide(ctx, text) {
    let width = widths.get(text);
    if (width === undefined) {
      if (widths.size > 20_000) widths.clear();
      widths.set(text, (width = ctx.measureText(text).width));
    }
    return width;
  }

  function nodeAt(event) {
    for (const box of boxes(scroller.clientWidth, canvas.clientHeight)) {
      if (event.offsetY >= box.y && event.offsetY < box.y + ROW && event.offsetX >= box.x && event.offsetX < box.x + box.w) return box.i;
    }
    return -1;
  }

  function move(node) {
    const { view } = self;
    if (node === undefined || node < 0 || node >= view.size) return;
    self.selected = node;
    const y = (self.upright ? rows - 1 - view.depth[node] : view.depth[node]) * ROW;
    if (y < scroller.scrollTop || y > scroller.scrollTop + scroller.clientHeight - ROW) scroller.scrollTop = Math.max(0, y - scroller.clientHeight / 2);
    look.moved(node);
    draw();
  }

  function children(node) {
    const { view } = self;
    const list = [];
    const [first, last] = node < 0 ? [0, view.size] : [node + 1, view.end[node]];
    for (let i = first; i < last; i = view.end[i]) list.push(i);
    return list;
  }

  function heaviestChild() {
    const from = self.selected < 0 ? self.root : self.selected;
    return children(from).reduce((best, i) => (best < 0 || self.view.total[i] > self.view.total[best] ? i : best), -1);
  }

  function sibling(by) {
    if (self.selected < 0) return -1;
    const list = children(self.view.parent[self.selected]);
    return list[list.indexOf(self.selected) + by];
  }

  const caller = () => self.view.parent[self.selected];

  canvas.addEventListener("pointermove", (event) => {
    const i = self.view ? nodeAt(event) : -1;
    canvas.style.cursor = i < 0 ? "default" : "pointer";
    if (i < 0) hideTip();
    else showTip(event.clientX, event.clientY, ...facts(...look.about(i)));
  });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("click", (event) => {
    const i = self.view ? nodeAt(event) : -1;
    if (i >= 0) look.pick(i);
  });
  canvas.addEventListener("keydown", (event) => {
    if (!self.view || event.ctrlKey || event.metaKey || event.altKey) return;
    const { upright } = self;
    const act = { ArrowDown: upright ? caller : heaviestChild, ArrowUp: upright ? heaviestChild : caller, ArrowLeft: () => sibling(-1), ArrowRight: () => sibling(1) }[event.key];
    if (act) move(act());
    else if (event.key === "Enter" && self.selected >= 0) look.pick(self.selected);
    else if (!look.key?.(event.key)) return;
    event.preventDefault();
  });
  scroller.addEventListener("scroll", () => requestAnimationFrame(draw));
  new ResizeObserver(() => requestAnimationFrame(draw)).observe(scroller);
  return self;
}

// "org.apache.spark.sql.Foo$Bar.run" -> "Foo$Bar.run"; addresses of lambdas are left out.
export function brief(name) {
  const plain = name.replace(/[./]0x[0-9a-f]{6,}/, "");
  const match = /^(?:[\w$]+\.)*([\w$/\-[\]]+\.[^.]+)$/.exec(plain);
  return match ? match[1] : plain;
}
