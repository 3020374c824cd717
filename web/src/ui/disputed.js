// Numbers that another source contradicts (`summary.disputed`): marked where they stand, with the better one.
import { el } from "./dom.js";
import { gone, unit } from "./format.js";
import { tipOn } from "./tip.js";

export const CROSS = "✗";

export function disputeOf(summary, field) {
  return (summary?.disputed ?? []).find((one) => one.field === field) ?? null;
}

// "✗ 43.9 MiB by read calls"; where the better number is not known, what is wrong.
export function disputeText(better, source, kind) {
  return [CROSS, gone(better) ? null : unit(better, kind), source].filter(Boolean).join(" ");
}

export function disputeMark(better, source, why, kind) {
  return tipOn(el("span", { class: "disputed", tabindex: "0" }, disputeText(better, source, kind)), () => why);
}

// Of a column of the stages: stage → better number, where the summary tells it.
export function betterByStage(dispute) {
  const key = (one) => `${one.app_index} ${one.stage_id} ${one.stage_attempt}`;
  const found = new Map((dispute?.stages ?? []).map((one) => [key(one), one.better]));
  return (stage) => found.get(key(stage)) ?? null;
}
