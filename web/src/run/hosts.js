// Hosts of executors, by the event log: their slots and tasks, what the tasks did, and what is uneven.
import { bar } from "../ui/bars.js";
import { bdi, el, section } from "../ui/dom.js";
import { bytes, count, gone, percent, significant, time } from "../ui/format.js";
import { help } from "../ui/tip.js";
import { table } from "../ui/table.js";

const TEXT = "What executors had and tasks did on each host, as Spark's event log has it: it needs no agent there.";
const TAKES = "How long tasks of this host took, over the other hosts' median, within the same stages and without the first tasks of each executor, which load code; the interval holds for all hosts at once (95 %).";
const SUMS = [
  ["executor_cpu_time_ns", "CPU", time], ["jvm_gc_time_ns", "GC", time], ["shuffle_fetch_wait_time_ns", "Fetch wait", time],
  ["input_bytes", "Input", bytes], ["shuffle_read_total_bytes", "Shuffle read", shuffled],
  ["shuffle_written_bytes", "Shuffle written", bytes], ["disk_spilled_bytes", "Spilled", bytes],
];

export const severalHosts = (summary) => (summary?.hosts?.hosts?.length ?? 0) > 1;

export function hostsSection(summary) {
  if (!severalHosts(summary)) return null;
  const { hosts, hosts_count: all, uneven } = summary.hosts;
  const ledgers = summary.ledger?.hosts ?? [];
  const unobserved = ledgers.length > 0 && !ledgers.some((one) => one.observed);
  return section("hosts", "Hosts", TEXT, el("div", { class: "panel" },
    el("h3", null, "Slots and tasks", help("Slots × wall of each host's executors in the window, and how much of it ran tasks; over time in the timeline.")),
    uneven?.length > 0 && el("ul", null, uneven.map((text) => el("li", null, el("bdi", null, text)))),
    table(slotColumns(hosts), hosts),
    el("h3", null, "What the tasks did", help("Sums of all attempts of the host's tasks.")),
    table(workColumns(hosts), hosts),
    all > hosts.length && el("p", { class: "note" }, `The ${count(hosts.length)} with most task time of ${count(all)}.`),
    unobserved && el("p", { class: "note" }, `Core view: ${summary.ledger.core_view?.reason ?? "not observed"}.`)));
}

const HOST = { label: "Host", value: (one) => one.host, show: (one) => bdi(one.host) };

function slotColumns(hosts) {
  const most = Math.max(...hosts.map((one) => one.task_ns ?? 0));
  return [
    HOST,
    { label: "Executors", value: (one) => one.executors_count, show: executors, number: true },
    { label: "Slots × wall", value: (one) => one.slots_ns, show: slots, number: true, help: "In brackets, most slots at one time." },
    { label: "Used", value: used, show: (one) => (gone(used(one)) ? null : bar(used(one), 1, percent(used(one)))), number: true, help: "Part of the slots × wall that ran task attempts; the rest was idle." },
    { label: "Tasks", value: (one) => one.totals.tasks_count, show: tasks, number: true },
    { label: "Task time", value: (one) => one.task_ns, show: (one) => bar(one.task_ns, most, time(one.task_ns)), number: true },
    { label: "A task takes", value: (one) => one.task_time_ratio?.value, show: (one) => takes(one.task_time_ratio), number: true, help: TAKES },
  ];
}

function workColumns(hosts) {
  const sums = SUMS.filter(([name]) => hosts.some((one) => sumOf(one, name) > 0));
  return [
    HOST,
    ...sums.map(([name, label, unit]) => ({ label, value: (one) => sumOf(one, name), show: (one) => unit(sumOf(one, name), one), number: true })),
  ];
}

// Attempts that failed took their part as well; what Spark does not say of those that succeeded is not known.
export function sumOf(one, name) {
  const known = one.totals?.[name];
  return gone(known) ? null : known + (one.failed?.totals?.[name] ?? 0);
}

export const used = (one) => (gone(one.used_ns) || !one.slots_ns ? null : one.used_ns / one.slots_ns);

export function takes(ratio) {
  if (gone(ratio?.value)) return null;
  return [`${significant(ratio.value)} ×`, !gone(ratio.low) && el("span", { class: "aside" }, ` [${significant(ratio.low)}, ${significant(ratio.high)}]`)];
}

const slots = (one) => [time(one.slots_ns), !gone(one.slots_count) && aside(count(one.slots_count))];

// Bytes of shuffle, and which part of them came from other executors.
function shuffled(all, one) {
  const remote = sumOf(one, "shuffle_read_remote_bytes");
  return [bytes(all), all > 0 && !gone(remote) && aside(`${percent(remote / all)} remote`)];
}

const aside = (text) => el("span", { class: "aside" }, ` (${text})`);

const executors = (one) => [count(one.executors_count), one.removed_executors_count > 0 && aside(`${count(one.removed_executors_count)} removed`)];

const tasks = (one) => [count(one.totals.tasks_count), one.failed?.totals?.tasks_count > 0 && el("span", { class: "bad" }, ` +${count(one.failed.totals.tasks_count)} failed or killed`)];
