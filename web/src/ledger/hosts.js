// Each of several hosts: what its CPUs and its slots did, and how well its clock is known.
import { el } from "../ui/dom.js";
import { gone, signedPercent, time } from "../ui/format.js";
import { help } from "../ui/tip.js";
import { rowsTable } from "./rows.js";

const VIEWS = [["core_view", "Core view"], ["slot_view", "Slot view"]];

const OBSERVED = "The accounts above, host by host. Times of other hosts are on the driver's clock, each within the bound said here. A host without a probe has no rows of CPUs: what ran there is in no other row.";
const UNOBSERVED = "The slot view above, host by host, from the event log. No agent was on these hosts: their CPUs have no account.";

// `quality` gives the three figures of a view in one sentence.
export function hostsPanel(list, quality) {
  if (!list?.length) return null;
  return el("div", { class: "panel" },
    el("h3", null, "Accounts of hosts", help(list.some((one) => one.observed) ? OBSERVED : UNOBSERVED)),
    list.map((one) => el("details", { class: "checks" },
      el("summary", null, el("b", null, one.host), el("span", { class: "aside" }, ` ${hostFacts(one).join(" · ")}`)),
      VIEWS.map(([key, title]) => view(title, one[key], quality)))));
}

function view(title, data, quality) {
  if (!data?.rows?.length || !data.total_ns) return el("p", { class: "quality" }, `${title}: ${data?.reason || "nothing in this window"}.`);
  return [el("h4", null, title, el("span", { class: "aside" }, time(data.total_ns))), quality(data), rowsTable(data.rows, data.total_ns, `${title}: rows`)];
}

export function hostFacts(one) {
  if (!one.observed && gone(one.clock)) return ["not observed: no agent there"];
  const cpus = gone(one.cpus_count) ? "number of CPUs not known" : `${one.cpus_count} CPUs`;
  if (!one.observed) return [clockOf(one), cpus, "not observed"];
  const closure = one.core_view.closure_ratio;
  const probe = one.tier ? [`probe at ${one.tier}`] : [];
  return [clockOf(one), cpus, ...probe, gone(closure) ? "closure not known" : `closure ${signedPercent(closure)}`];
}

function clockOf(one) {
  if (one.clock === "axis") return "its clock is the axis";
  if (gone(one.clock)) return "nothing was recorded there";
  return gone(one.bound_ns) ? "its clock has no bound" : `clock within ± ${time(one.bound_ns)}`;
}
