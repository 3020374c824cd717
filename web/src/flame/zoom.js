// Zoom and search of a flame graph: the box that fills the width, the way back to those before it,
// and the buttons, keys and search field that lead there.
import { el } from "../ui/dom.js";
import { count, percent } from "../ui/format.js";

// `draw()` shows box `zoom.at` (-1: all), `search(text)` what matches.
export function makeZoom(id, draw, search) {
  let before = [];
  const input = el("input", { type: "search", id: `${id}-search`, placeholder: "Search (regex)", "aria-label": "Search frames by regular expression", on: { input: () => search(input.value) } });
  const back = el("button", { type: "button", id: `${id}-back`, on: { click: goBack } }, "Back");
  const reset = el("button", { type: "button", id: `${id}-reset`, on: { click: () => zoom.to(-1) } }, "Reset zoom");
  const share = el("output", { class: "aside", id: `${id}-share` });
  const zoom = {
    at: -1,
    input, share,
    controls: [input, share, back, reset],
    to(box) {
      if (box === zoom.at) return;
      before.push(zoom.at);
      show(box);
    },
    // Another picture: there is no way back from it.
    start(box = -1) {
      before = [];
      show(box);
    },
    // Whether the key meant something here.
    pressed(key) {
      if (key === "Backspace") goBack();
      else if (key === "Escape") zoom.to(-1);
      else if (key === "/") input.focus();
      else return false;
      return true;
    },
    matched: (found) => `${percent(found.share)} matched (${count(found.frames)} frames${found.partial ? " drawn" : ""})`,
  };

  function show(box) {
    zoom.at = box;
    draw();
    back.disabled = before.length === 0;
    reset.disabled = zoom.at < 0;
  }

  function goBack() {
    if (before.length) show(before.pop());
  }

  return zoom;
}
