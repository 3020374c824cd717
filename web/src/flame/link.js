// A view of the flame graph as the part of an address behind "#", and back.
import { MODES } from "./colouring.js";
import { BOTH, bothOf } from "./model.js";

const START = "#flame?";

// `measured`: indices of the measured iterations, which have a word of their own.
export function toLink(state, meta, measured) {
  const words = new URLSearchParams({ event: state.event });
  const groups = state.groups.filter(Boolean);
  if (groups.length) words.set("by", groups.join(","));
  for (const [name, allowed] of Object.entries(state.filters)) {
    if (allowed) words.set(name, allowed === measured ? "measured" : JSON.stringify(meta.dimensions[name][allowed[0]]));
  }
  if (state.inverted) words.set("stacks", "leaf");
  if (state.upright) words.set("root", "bottom");
  if (state.runners) words.set("runners", "shown");
  if (state.weight !== "time") words.set("weight", state.weight);
  if (state.colour !== "what") words.set("colour", state.colour);
  if (state.text) words.set("find", state.text);
  if (state.time) words.set("time", state.time);
  if (state.only) words.set("only", state.only);
  if (state.at >= 0) words.set("zoom", state.at);
  return START + words;
}

// The part of the state that a link holds; null for an address without one. What does not fit the data
// (a stage that is not there) is left out.
export function fromLink(hash, meta, measured) {
  if (!hash.startsWith(START)) return null;
  const words = new URLSearchParams(hash.slice(START.length));
  const filters = {};
  for (const [name, values] of Object.entries(meta.dimensions)) {
    const wanted = words.get(name);
    const index = wanted === null ? -1 : values.findIndex((value) => JSON.stringify(value) === wanted);
    if (wanted === "measured" && name === "iteration") filters[name] = measured;
    else if (index >= 0) filters[name] = [index];
  }
  const oneOf = (name, allowed, other) => (allowed.includes(words.get(name)) ? words.get(name) : other);
  const zoom = Number.parseInt(words.get("zoom") ?? "", 10);
  return {
    event: oneOf("event", [...meta.event_names, ...(bothOf(meta).every((name) => meta.event_names.includes(name)) ? [BOTH] : [])], meta.event_names[0]),
    groups: (words.get("by") ?? "").split(",").filter((name) => name in meta.dimensions),
    filters,
    inverted: words.get("stacks") === "leaf",
    upright: words.get("root") === "bottom",
    runners: words.get("runners") === "shown",
    weight: oneOf("weight", ["critical"], "time"),
    colour: oneOf("colour", Object.keys(MODES), "what"),
    text: words.get("find") ?? "",
    ...(words.has("time") && { time: words.get("time"), only: words.get("only") ?? "" }),
    root: Number.isInteger(zoom) && zoom >= 0 ? zoom : -1,
  };
}
