// Stages: a sortable table, the longest first; a row opens the stage's tasks.
import { bar } from "../ui/bars.js";
import { betterByStage, CROSS, disputeOf, disputeText } from "../ui/disputed.js";
import { el, missing, section } from "../ui/dom.js";
import { bytes, callSite, count, gone, percent, significant, stageCalled, stageTitle, time } from "../ui/format.js";
import { table } from "../ui/table.js";
import { facts, tipOn } from "../ui/tip.js";
import { taskDetails } from "./tasks.js";

const MOST_OPENED = 200; // stages that have their tasks: MAX_STAGES of accounts/stage_tasks.py

export function stagesSection(summary, cuts) {
  const help = "A stage is a set of tasks that run the same code on partitions of the data. Click a heading to sort; select a stage for its tasks: quantiles, the slowest, and each executor.";
  const stages = summary.stages ?? [];
  if (!stages.length) return section("stages", "Stages", help, missing("The event log has no stages."));
  const several = new Set(stages.map((stage) => stage.app_index)).size > 1;
  const most = (pick) => Math.max(1, ...stages.map((stage) => pick(stage) ?? 0));
  const total = (name) => (stage) => stage.totals?.[name] ?? null;
  const run = total("executor_run_time_ns");
  const longest = most((stage) => stage.duration_ns);
  const heaviest = most(run);
  const slowest = most((stage) => stage.task_time?.max_ns);
  const [wrongInput, wrongCpu, wrongGc] = ["input_bytes", "executor_cpu_time_ns", "jvm_gc_time_ns"].map((name) => disputeOf(summary, `stages.totals.${name}`));
  const [betterInput, betterGc] = [wrongInput, wrongGc].map(betterByStage);
  let used;
  const columns = [
    { label: "Stage", value: (s) => (s.app_index ?? 0) * 1e9 + s.stage_id * 100 + (s.stage_attempt ?? 0), show: (s) => opener(s, nameOf(s, several), used.length), number: true },
    { label: "Name", value: stageCalled, show: (s) => el("bdi", { class: "clip", title: stageTitle(s) }, callSite(stageCalled(s)) ?? "–"), class: "name" },
    { label: "Iteration", value: (s) => s.iteration, number: true },
    { label: "SQL", value: (s) => s.sql_id, number: true, help: "SQL execution that submitted the stage." },
    { label: "Tasks", value: (s) => s.tasks_count, show: tasks, number: true },
    { label: "Duration", value: (s) => s.duration_ns, show: (s) => bar(s.duration_ns, longest, time(s.duration_ns)), number: true, help: "From submission to completion." },
    { label: "Run time", value: run, show: (s) => bar(run(s), heaviest, time(run(s))), number: true, help: "Sum over all its tasks." },
    { label: marked("CPU", wrongCpu), value: cpuShare, show: (s) => percent(cpuShare(s)), number: true, help: ["Share of the run time spent on a CPU.", wrongCpu && `${disputeText(null, wrongCpu.better_source)}: ${wrongCpu.why}`].filter(Boolean).join(" ") },
    { label: marked("GC", wrongGc), value: gcShare, show: (s) => atMost(percent(gcShare(s)), betterGc(s), (better) => percent(ratio(better, run(s)))), number: true, help: ["GC time as Spark counts it, as a share of run time: a pause counts once for each running task.", wrongGc && `${CROSS} ${wrongGc.why}`].filter(Boolean).join(" ") },
    { label: "Task times", value: skew, show: (s) => box(s, slowest), help: `Line: shortest to longest task; block: median to 95th percentile. All stages on one scale, from 0 to ${time(slowest)}. Sorts by skew: longest over median.`, number: true },
    { label: marked("Input", wrongInput), value: total("input_bytes"), show: (s) => atMost(bytes(total("input_bytes")(s)), betterInput(s), bytes), number: true, help: wrongInput && `${CROSS} ${wrongInput.why} Behind the mark: ${wrongInput.better_source}.` },
    { label: "Shuffle read", value: total("shuffle_read_total_bytes"), show: (s) => bytes(total("shuffle_read_total_bytes")(s)), number: true },
    { label: "Shuffle write", value: total("shuffle_written_bytes"), show: (s) => bytes(total("shuffle_written_bytes")(s)), number: true },
    { label: "Spilled", value: total("disk_spilled_bytes"), show: (s) => bytes(total("disk_spilled_bytes")(s)), number: true, help: "Bytes written to disk for lack of memory." },
    { label: "Status", value: (s) => s.status },
  ];
  const optional = new Set(["Iteration", "SQL", "Spilled", "Shuffle read", "Shuffle write", "Input"]);
  const known = (column, stage) => ["Iteration", "SQL"].includes(column.label) ? !gone(column.value(stage)) : column.value(stage) > 0;
  used = columns.filter((column) => !optional.has(column.label) || stages.some((stage) => known(column, stage)));
  const cut = (cuts ?? []).find((text) => text.startsWith("stages:"));
  const open = stages.filter((stage) => stage.tasks).length;
  const closed = stages.some((stage) => !stage.tasks && stage.tasks_count > 0);
  return section("stages", "Stages", help, cut && el("p", { class: "note" }, `Shown: ${cut.slice(8)}.`),
    open > 0 && closed && el("p", { class: "note", id: "stages-open" }, `Tasks can be opened for ${count(open)} of ${count(stages.length)} stages: at most the ${MOST_OPENED} longest that ended.`),
    table(used, stages, { first: 60, sort: { column: used.findIndex((column) => column.label === "Duration"), down: true } }));
}

const marked = (label, dispute) => (dispute ? `${label} ${CROSS}` : label);

const atMost = (text, better, show) => (better === null ? text : [text, el("span", { class: "disputed" }, ` ${CROSS} ≤ ${show(better)}`)]);

const nameOf = (stage, several) => `${several ? `${stage.app_index}·` : ""}${stage.stage_id}${stage.stage_attempt ? `.${stage.stage_attempt}` : ""}`;

// The stage's number, by which links find its row; where its tasks are known, a button that opens them below it.
function opener(stage, name, width) {
  const data = { stage: name, app: stage.app_index };
  if (!stage.tasks) return el("span", { data }, name);
  const button = el("button", { type: "button", class: "link stage-open", "aria-expanded": "false", "aria-label": `Tasks of stage ${name}`, data, on: { click: toggle } }, el("span", { class: "fold", "aria-hidden": "true" }), name);
  function toggle() {
    const row = button.closest("tr");
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (open) row.nextElementSibling.remove();
    else row.after(el("tr", { class: "opened" }, el("td", { colspan: width }, taskDetails(stage, name))));
  }
  return button;
}

function tasks(stage) {
  const bad = (stage.failed_tasks_count ?? 0) + (stage.killed_tasks_count ?? 0);
  return [count(stage.tasks_count), bad > 0 && el("span", { class: "bad" }, ` +${count(bad)} failed or killed`)];
}

function ratio(part, whole) {
  return whole && part !== null && part !== undefined ? part / whole : null;
}

function cpuShare(stage) {
  return ratio(stage.totals?.executor_cpu_time_ns, stage.totals?.executor_run_time_ns);
}

function gcShare(stage) {
  return ratio(stage.totals?.jvm_gc_time_ns, stage.totals?.executor_run_time_ns);
}

function skew(stage) {
  return ratio(stage.task_time?.max_ns, stage.task_time?.median_ns);
}

function box(stage, most) {
  const t = stage.task_time;
  if (!t || t.median_ns === null || t.median_ns === undefined) return "–";
  const at = (value) => `${(value / most) * 100}%`;
  const node = el("span", { class: "box", role: "img", "aria-label": `median ${time(t.median_ns)}, longest ${time(t.max_ns)}` },
    el("span", { class: "whisker", style: { left: at(t.min_ns), width: `calc(${at(t.max_ns)} - ${at(t.min_ns)})` } }),
    el("span", { class: "body", style: { left: at(t.median_ns), width: `calc(${at(t.p95_ns)} - ${at(t.median_ns)})` } }));
  return tipOn(node, () => facts(`Tasks of stage ${stage.stage_id}`, [["shortest", time(t.min_ns)], ["median", time(t.median_ns)], ["95th percentile", time(t.p95_ns)], ["longest", time(t.max_ns)], ["longest / median", significant(skew(stage))]]));
}
