// What an experiment declared, and what it left out.
import { bdi, el, section } from "../ui/dom.js";
import { seconds } from "../ui/estimates.js";
import { bytes, NONE, signedPercent, words } from "../ui/format.js";
import { table } from "../ui/table.js";

export function plan({ plan: declared, report }) {
  const value = (one) => (typeof one === "object" && one !== null ? Object.entries(one).map(([name, each]) => `${name} ${each ?? NONE}`).join(", ") : String(one));
  const shown = [
    ["Files", declared.files.join(", ")], ["Iterations", `${declared.iterations} measured, ${declared.warmup} warm-up`], ["Margin", signedPercent(declared.margin).replace("+", "± ")],
    ["Timeout", seconds(declared.timeout_s)], ["Split by", declared.split.join(", ")], ["Canaries", declared.canaries === "none" ? "none" : `before each ${declared.canaries}`], ["Guard", value(declared.guard)],
    ["Machine", Object.entries(declared.machine ?? {}).map(([name, one]) => (name.endsWith("_bytes") ? bytes(one) : `${words(name)}: ${one}`)).join(", ")], ["Pyrometer", declared.pyrometer_version],
  ];
  return section("plan", "Plan", "What was declared, from experiment.json in the experiment's folder.",
    el("dl", { class: "pairs panel" }, shown.filter(([, text]) => text).map(([name, text]) => [el("dt", null, name), el("dd", null, bdi(text))])),
    el("h3", null, "Left out"), table([
      { label: "Treatment", value: (one) => one.name, show: (one) => bdi(one.name), class: "name" }, { label: "Why", value: (one) => one.reason, show: (one) => bdi(one.reason) },
    ], report.left_out, { empty: "Nothing: every combination of the matrix was run." }));
}
