// What was decided after which night, and why.
import { bdi, section } from "../ui/dom.js";
import { table } from "../ui/table.js";
import { notVaried } from "./not-varied.js";
import { called } from "./value.js";

export function decisions(report) {
  const text = "A step that is ahead is adopted, one that is not is rejected; one that failed, took too long or changed the result is barred. What was adopted and turned out slower, or failed, is rolled back. A run is not counted where it was ended from outside, where others had the memory that it needs, or where the job as it is did no better that night.";
  return section("decisions", "Decisions", text, table([
    { label: "Night", value: (one) => one.night, number: true },
    { label: "Decision", value: (one) => one.what, class: "name" },
    { label: "Configuration", value: (one) => called(one.configuration), show: (one) => bdi(called(one.configuration)) },
    { label: "Why", value: (one) => one.why, show: (one) => bdi(one.why) },
  ], [...report.decisions].reverse(), { empty: "Nothing was decided yet." }), notVaried(report.not_varied));
}
