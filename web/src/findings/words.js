// What stands in a finding's card, as words; pure.
import { bytes, gone, NONE, percent, short, time } from "../ui/format.js";

const SHOWS = { ns: time, bytes, ratio: percent };

export const amount = (value, unit) => (gone(value) ? NONE : (SHOWS[unit] ?? short)(value));

// "1.00 s to 3.00 s"; null where the number is exact, or has no interval.
export function ends(one, unit) {
  if (gone(one?.low) || gone(one?.high) || (one.low === one.value && one.high === one.value)) return null;
  return `${amount(one.low, unit)} to ${amount(one.high, unit)}`;
}

export function within(one, unit) {
  const range = ends(one, unit);
  return `${amount(one?.value, unit)}${range ? ` (${range})` : ""}`;
}

// "the noise of the run (3.00 %)", or that this is assumed, and why.
export const noise = (found) => (found.noise?.kind === "assumed"
  ? `the noise (${percent(found.noise_ratio)}, assumed: ${found.noise.method})`
  : `the noise of the run (${percent(found.noise_ratio)})`);

// Whether a trial showed that the remedy does not help.
export const inVain = (one) => ["refuted", "no_difference"].includes(one.proof?.verdict);

// Findings that count, in their order; those that may be worth it, the largest first; those that
// are weaker than the noise; those that were tried without a gain; those that are muted.
export function parted(findings) {
  const muted = findings.filter((one) => one.muted !== null && one.muted !== undefined);
  const tried = findings.filter((one) => !muted.includes(one) && inVain(one));
  const open = findings.filter((one) => !muted.includes(one) && !tried.includes(one));
  const may = open.filter((one) => !one.shown && one.may);
  may.sort((a, b) => (b.saving?.elapsed_ns?.value ?? 0) - (a.saving?.elapsed_ns?.value ?? 0));
  return { counted: open.filter((one) => one.shown), may, weak: open.filter((one) => !one.shown && !one.may), tried, muted };
}

// What to do next, as in the terminal: where something is worth it, how to see what.
export function nextStep(findings, otherwise) {
  return parted(findings?.findings ?? []).counted.length > 0 ? "pyrometer explain RUN" : otherwise;
}

// What to type: of a factor the options, else the code after the edit.
export function remedyText(remedy) {
  return remedy.options?.length ? remedy.options.join(" ") : remedy.after ?? "";
}

// How findings of the rule fared when they were tried.
export function record(one) {
  if (!one?.tried_count) return null;
  const off = gone(one.error_ratio) ? "" : `, predictions off by up to ${percent(one.error_ratio)}`;
  return `proven ${one.proven_count} of ${one.tried_count} ${one.tried_count === 1 ? "time" : "times"}${off}`;
}

// An example is not what the user would type.
export const mayCopy = (remedy) => Boolean(remedy.options?.length || (remedy.after && !remedy.example));

// Rules that could not look, by what they lack: [{missing, remedy, codes}], most first.
export function lacks(unjudged) {
  const found = new Map();
  for (const one of unjudged) {
    const key = `${one.missing}\n${one.remedy}`;
    if (!found.has(key)) found.set(key, { missing: one.missing, remedy: one.remedy, codes: [] });
    found.get(key).codes.push(one.code);
  }
  return [...found.values()].sort((a, b) => b.codes.length - a.codes.length);
}
