// Elements are created here and only here. Text goes in as text nodes: no string is ever parsed as
// HTML, so names that come from a log cannot become markup.

const SVG = "http://www.w3.org/2000/svg";

// el("td", { class: "n", title: "..." }, "text", node, [more nodes])
// `on` holds listeners, `style` CSS properties, `data` data attributes; null children are left out.
export function el(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

export function svg(tag, props, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(node, props, children) {
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "on") for (const [type, listener] of Object.entries(value)) node.addEventListener(type, listener);
    else if (key === "style") for (const [name, css] of Object.entries(value)) node.style.setProperty(name, css);
    else if (key === "data") Object.assign(node.dataset, value);
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  add(node, children);
  return node;
}

function add(node, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) add(node, child);
    else node.append(child);
  }
}

export function replace(node, ...children) {
  node.replaceChildren();
  add(node, children);
  return node;
}

// Text of a user or a log, isolated from the direction of the text around it; null for nothing.
export const bdi = (text) => (text === null || text === undefined || text === "" ? null : el("bdi", null, String(text)));

// A section of the page with its heading and an explanation.
export function section(id, title, help, ...children) {
  return el("section", { id, "aria-labelledby": `${id}-title` },
    el("h2", { id: `${id}-title` }, title),
    help && el("p", { class: "what" }, help),
    children);
}

export function missing(reason) {
  return el("p", { class: "missing" }, reason || "Not recorded in this run.");
}
