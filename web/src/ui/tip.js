// One tooltip for the page, shown on hover and on keyboard focus.
import { el, replace } from "./dom.js";

const box = () => document.getElementById("tip");

export function showTip(x, y, ...content) {
  const tip = box();
  replace(tip, ...content);
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(x + 14, window.innerWidth - width - 8);
  const below = y + 18;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${below + height > window.innerHeight - 8 ? Math.max(8, y - height - 12) : below}px`;
}

export function hideTip() {
  box().hidden = true;
}

// Show `content()` while the pointer is on `node` or it has the focus.
export function tipOn(node, content) {
  const from = (event) => showTip(event.clientX, event.clientY, ...[].concat(content()));
  node.addEventListener("pointermove", from);
  node.addEventListener("pointerleave", hideTip);
  node.addEventListener("focus", () => {
    if (!node.matches(":focus-visible")) return;
    const { left, bottom } = node.getBoundingClientRect();
    showTip(left, bottom - 12, ...[].concat(content()));
  });
  node.addEventListener("blur", hideTip);
  return node;
}

// A small "?" that explains something.
export function help(text) {
  if (!text) return null;
  const button = el("button", { type: "button", class: "help", "aria-label": `What is this? ${text}` }, "?");
  return tipOn(button, () => text);
}

// Lines of a tooltip: a title and pairs of label and value.
export function facts(title, pairs) {
  return [
    el("strong", null, title),
    el("dl", null, pairs.filter((pair) => pair && pair[1] !== null && pair[1] !== undefined).map(([name, value]) => [el("dt", null, name), el("dd", null, value)])),
  ];
}
