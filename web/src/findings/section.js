// Findings: what would make the run faster, each with what speaks for it and what to do.
import { bdi, el, missing, section } from "../ui/dom.js";
import { gone, percent, time } from "../ui/format.js";
import { open, target } from "./evidence.js";
import { amount, ends, inVain, lacks, mayCopy, noise, parted, record, remedyText, within } from "./words.js";

const TITLE = "What would make it faster";
const HELP = "Each finding is a cause, and what the run would take without it: the application is scheduled again without the cause, so what lies off the critical path saves nothing. Intervals are of 90 %. Open a finding for its remedy and its evidence.";

// `has` says whether a section of the page has anything to show.
export function findingsSection(found, has) {
  if (!found) return null;
  if (found.reason) return section("findings", TITLE, null, missing(found.reason));
  const { counted, may, weak, tried, muted } = parted(found.findings ?? []);
  const whole = found.baseline?.elapsed_ns;
  const joint = found.joint_saving?.elapsed_ns;
  return section("findings", TITLE, HELP,
    counted.length && joint
      ? el("p", { class: "joint" }, counted.length > 1 ? "Could be saved by all together: " : "Could be saved: ", el("b", null, amount(joint.value, "ns")), ` of ${time(whole)} (${ends(joint, "ns")}).`)
      : el("p", { class: "joint" }, bdi(found.conclusion)),
    list(counted, whole, has),
    may.length > 0 && el("p", { class: "may-be" }, `${counted.length ? "Not sure, but may be worth it, too" : "Not sure, but may be worth it"}: above ${noise(found)}, but the low end of the interval is not.`),
    list(may, whole, has),
    notes(found.notes ?? []),
    folded(`${weak.length} more, not above ${noise(found)}`, weak.length && list(weak, whole, has)),
    folded(`${tried.length} tried, without a gain`, tried.length && list(tried, whole, has)),
    folded(`${muted.length} muted by the project`, muted.length && list(muted, whole, has)),
    unjudged(found.unjudged ?? [], found.rules_count));
}

const list = (findings, whole, has) => findings.length > 0 && el("ol", { class: "findings" }, findings.map((one) => el("li", null, card(one, whole, has))));

const folded = (title, body) => (body ? el("details", { class: "more-findings" }, el("summary", null, title), body) : null);

const isProven = (one) => one.proof?.verdict === "proven";

function card(one, whole, has) {
  const saving = one.saving.elapsed_ns;
  return el("details", { class: one.may ? "finding may" : "finding", data: { code: one.code } },
    el("summary", null,
      el("span", { class: "saves" }, el("b", null, amount(saving.value, "ns")), " ", el("span", { class: "dim" }, percent(one.saving_ratio?.value))),
      el("span", { class: "finding-title" }, el("b", null, one.title), " ", el("span", { class: "dim" }, bdi(one.where)),
        one.may && el("span", { class: "dim" }, ` · may save ${ends(saving, "ns") ?? amount(saving.value, "ns")}`),
        isProven(one) && el("span", null, " · ", bdi(one.tried))),
      bar(saving, whole)),
    el("div", { class: "finding-body" },
      el("p", null, bdi(one.mechanism)),
      one.muted && el("p", { class: "note" }, "Muted: ", bdi(one.muted)),
      one.proof && !isProven(one) && el("p", { class: "note" }, "Tried: ", bdi(one.tried)),
      !inVain(one) && one.remedies.map(remedy),
      el("dl", { class: "pairs" },
        el("dt", null, "Saves"), el("dd", null, `${within(saving, "ns")} of elapsed time; ${within(one.saving.core_ns, "ns")} of cores`),
        one.evidence.map((piece) => [el("dt", null, bdi(piece.what)), el("dd", null, evidence(piece, one.place, has))]),
        one.symptoms.length > 0 && [el("dt", null, "Explains also"), el("dd", null, one.symptoms.map(symptom))],
        record(one.record) && [el("dt", null, "Earlier trials"), el("dd", null, record(one.record))],
        one.doubts.map((doubt) => [el("dt", null, "Doubt"), el("dd", null, bdi(doubt.message))]),
        [el("dt", null, "To refute it"), el("dd", null, bdi(one.refute))],
        [el("dt", null, "Rule"), el("dd", null, el("code", null, one.code))])));
}

// The saving beside the elapsed time; the thin line is its interval.
function bar(saving, whole) {
  const at = (ns) => `${Math.max(0, Math.min(100, ((ns ?? 0) / (whole || 1)) * 100))}%`;
  return el("span", { class: "saving-bar", title: `${within(saving, "ns")} of ${time(whole)}` },
    el("span", { class: "fill", style: { width: at(saving.value) } }),
    !gone(saving.low) && !gone(saving.high) && el("span", { class: "whisker", style: { left: at(saving.low), width: `calc(${at(saving.high)} - ${at(saving.low)})` } }));
}

function remedy(one, at) {
  const text = remedyText(one);
  return el("div", { class: "remedy" },
    el("p", null, at === 0 ? "→ " : "or ", bdi(one.text)),
    one.example && el("p", { class: "dim" }, "For example, in names that are not yours:"),
    one.before && el("pre", { class: "edit" }, el("del", null, one.before)),
    text && el("div", { class: "edit" }, el("pre", null, one.before ? el("ins", null, text) : text), mayCopy(one) && copyButton(text)));
}

function symptom(one) {
  const tries = (one.remedies ?? []).filter((each) => each.options?.length);
  return el("p", null, bdi(`${one.title} (${one.code})`), tries.map((each) => [el("br"), "or ", el("code", null, remedyText(each))]));
}

function evidence(piece, place, has) {
  const value = within(piece.estimate, piece.unit);
  const goal = target(piece, place);
  const source = el("code", { class: "source" }, bdi(piece.query ?? piece.table));
  if (!goal) return [value, " ", source];
  if (!has(goal.section)) return [value, " ", source, el("span", { class: "dim" }, ` (${goal.label}: not in this run)`)];
  const go = (event) => { event.preventDefault(); open(goal); };
  return [value, " · ", el("a", { href: `#${goal.section}`, on: { click: go } }, goal.label), " ", source];
}

function copyButton(text) {
  const button = el("button", { type: "button", class: "copy", "aria-live": "polite", on: { click: () => copied(text).then(say) } }, "copy remedy");
  function say(done) {
    button.focus();
    button.textContent = done ? "copied" : "select the text and copy it";
    setTimeout(() => { button.textContent = "copy remedy"; }, 4000);
  }
  return button;
}

// Pages from a file have no clipboard in some browsers: then by a selection.
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = el("textarea", { class: "off-screen", "aria-hidden": "true" }, text);
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

function notes(all) {
  const open = all.filter((one) => !one.muted);
  return open.length > 0 && folded(`${open.length} ${open.length > 1 ? "notes" : "note"}: what saves no time, and is worth knowing`,
    el("dl", { class: "pairs" }, open.map((one) => [
      el("dt", null, one.title),
      el("dd", null, Object.entries(one.settings ?? {}).map(([name, value]) => [el("code", null, bdi(`${name}=${value}`)), " "]), bdi(one.mechanism)),
    ])));
}

function unjudged(all, rules) {
  return all.length > 0 && folded(`${all.length} of ${rules} rules could not judge this run`,
    el("dl", { class: "pairs" }, lacks(all).map((one) => [
      el("dt", null, bdi(one.missing)),
      el("dd", null, "→ ", bdi(one.remedy), el("br"), el("span", { class: "dim" }, one.codes.join(", "))),
    ])));
}
