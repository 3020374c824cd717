"use strict";
(() => {
  const svg = document.documentElement;
  const number = (element, name) => Number(element.getAttribute(name));
  const side = Number(svg.dataset.side), letter = Number(svg.dataset.letter);
  const inner = number(svg, "width") - 2 * side;
  const matched = document.getElementById("matched");
  const frames = [...document.querySelectorAll("#frames .f")].map((g) => {
    const rect = g.querySelector("rect");
    const x = number(rect, "x"), width = number(rect, "width");
    const name = g.querySelector("title").textContent.split("\n", 1)[0];
    return { g, rect, x, width, y: number(rect, "y"), name };
  });
  const root = frames[0];
  const up = Math.sign(frames.length > 1 ? root.y - frames[1].y : 1);
  const depth = (frame) => (root.y - frame.y) * up;
  // Places are rounded to 0.01 pixels.
  const near = 0.015;
  let term = null, zoomed = root;

  function label(frame, x, width) {
    const letters = Math.floor((width - 6) / letter);
    const all = [...frame.name];
    let text = "";
    if (letters >= 3) text = all.length <= letters ? frame.name : all.slice(0, letters - 2).join("") + "..";
    let element = frame.g.querySelector("text");
    if (!element) {
      if (!text) return;
      element = document.createElementNS("http://www.w3.org/2000/svg", "text");
      element.setAttribute("y", frame.y + 12);
      frame.g.append(element);
    }
    element.setAttribute("x", x + 3);
    element.textContent = text;
  }

  function zoom(to) {
    zoomed = to;
    const scale = inner / to.width, end = to.x + to.width;
    for (const frame of frames) {
      const above = depth(frame) >= depth(to);
      const inside = above && frame.x >= to.x - near && frame.x + frame.width <= end + near;
      const caller = !above && frame.x <= to.x + near && frame.x + frame.width >= end - near;
      frame.g.classList.toggle("hidden", !inside && !caller);
      frame.g.classList.toggle("caller", caller);
      if (!inside && !caller) continue;
      const x = caller ? side : side + (frame.x - to.x) * scale;
      const width = caller ? inner : frame.width * scale;
      frame.rect.setAttribute("x", x);
      frame.rect.setAttribute("width", width);
      label(frame, x, width);
    }
    count();
  }

  // Share of the picture that lies in matching boxes, each part counted once.
  function count() {
    if (!term) {
      matched.textContent = " ";
      return;
    }
    let covered = 0, until = -1;
    const of = zoomed;
    for (const frame of frames) {
      const inside = frame.x >= of.x - near && frame.x + frame.width <= of.x + of.width + near;
      if (!inside || depth(frame) < depth(of) || !frame.g.classList.contains("match")) continue;
      if (frame.x + near < until) continue;
      covered += frame.width;
      until = frame.x + frame.width;
    }
    matched.textContent = `matched: ${(100 * covered / of.width).toFixed(1)} %`;
  }

  function search(text) {
    try {
      term = text ? new RegExp(text) : null;
    } catch (error) {
      matched.textContent = error.message;
      return;
    }
    for (const { g, name } of frames) g.classList.toggle("match", Boolean(term) && term.test(name));
    svg.classList.toggle("searching", Boolean(term));
    count();
  }

  const ask = () => {
    const text = prompt("Frames to find (a regular expression; nothing clears)", term ? term.source : "");
    if (text !== null) search(text);
  };
  const button = (id, act) => {
    const element = document.getElementById(id);
    element.addEventListener("click", act);
    element.addEventListener("keydown", (event) => event.key === "Enter" && act());
  };
  button("search", ask);
  button("reset", () => zoom(root));
  document.getElementById("frames").addEventListener("click", (event) => {
    const g = event.target.closest(".f");
    if (g) zoom(frames.find((frame) => frame.g === g));
  });
  addEventListener("keydown", (event) => {
    if (event.key === "/" || (event.key === "f" && (event.ctrlKey || event.metaKey))) {
      event.preventDefault();
      ask();
    } else if (event.key === "Escape") {
      search("");
      zoom(root);
    }
  });
  svg.dataset.ready = "true";
})();
