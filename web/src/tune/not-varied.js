// Factors that are varied no longer, and what trials showed of them.
import { bdi, el } from "../ui/dom.js";
import { table } from "../ui/table.js";

export function notVaried(factors = {}) {
  if (!Object.keys(factors).length) return null;
  return [el("h3", null, "Not varied any more"), el("p", { class: "note" }, "The job decides these itself, whatever it is given, or its Spark does not have them."), table([
    { label: "Factor", value: ([factor]) => factor, show: ([factor]) => bdi(factor), class: "name" },
    { label: "Why", value: ([, why]) => why, show: ([, why]) => bdi(why) },
  ], Object.entries(factors))];
}
