// What trials of a study show beside times: quantities by treatment, and where they differ.
import { bdi, el, section } from "../ui/dom.js";
import { within } from "../ui/estimates.js";
import { gone, NONE, significant } from "../ui/format.js";
import { table } from "../ui/table.js";

export function evidence(list) {
  const names = [...new Set(list.map((one) => one.experiment))];
  const parts = names.map((name) => {
    const mine = list.filter((one) => one.experiment === name);
    return [el("h3", null, bdi(name)), byTreatment(mine), differences(mine)];
  });
  return section("evidence", "Evidence", "What the kernel and the accounts of each trial show: means over trials with their 95 % interval, and differences with Welch's.",
    parts.length ? parts : el("p", { class: "missing" }, "The study compares nothing but times."));
}

const label = (one) => (["count", "ratio"].includes(one.unit) ? one.what : `${one.what} (${one.unit})`);

const mean = (its) => (gone(its?.mean?.value) ? NONE : within(its.mean, significant));

function byTreatment(list) {
  const rows = list[0].treatments.map((one, at) => ({ name: one.treatment, of: list.map((quantity) => quantity.treatments[at]) }));
  return table([
    { label: "Treatment", value: (r) => r.name, show: (r) => bdi(r.name), class: "name" },
    ...list.map((one, at) => ({
      label: label(one),
      value: (r) => r.of[at]?.mean?.value,
      show: (r) => [mean(r.of[at]), r.of[at]?.reason && el("span", { class: "note" }, " (", bdi(r.of[at].reason), ")")],
      number: true,
    })),
  ], rows);
}

function differences(list) {
  const rows = list.flatMap((one) => one.pairs.filter((pair) => !gone(pair.difference?.value)).map((pair) => ({ what: label(one), ...pair })));
  return table([
    { label: "What", value: (r) => r.what, show: (r) => bdi(r.what), class: "name" },
    { label: "From", value: (r) => r.a, show: (r) => bdi(r.a) },
    { label: "To", value: (r) => r.b, show: (r) => bdi(r.b) },
    { label: "Difference", value: (r) => r.difference.value, show: (r) => within(r.difference, significant), number: true },
    { label: "p", value: (r) => r.p, show: (r) => (gone(r.p) ? NONE : significant(r.p)), number: true, help: "Of this difference alone." },
  ], rows, { empty: "No two treatments have this quantity in two trials each." });
}
