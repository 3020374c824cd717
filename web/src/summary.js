// Head of the page: what ran, the verdict, key figures, doubts, iterations.
import { el, missing, section } from "./dom.js";
import { bytes, count, date, interval, NONE, percent, time, unit, words } from "./format.js";
import { help } from "./tip.js";
import { table } from "./table.js";

export function head(content) {
  const { summary = {}, manifest = {} } = content;
  const run = summary.run ?? {};
  const host = manifest.host ?? run.host ?? {};
  const variant = Object.entries({ ...run.variant, ...manifest.workload?.variant, ...manifest.treatment });
  const started = manifest.started_wall_ns ?? run.started_wall_ns ?? summary.apps?.[0]?.start_wall_ns;
  const ended = manifest.ended_wall_ns;
  const facts = [
    ["Started", date(started)],
    ["Took", ended && started ? time(ended - started) : null],
    ["Machine", [host.hostname, host.cpu_model, host.cpus_count && `${host.cpus_count} CPUs`, host.memory_bytes && bytes(host.memory_bytes)].filter(Boolean).join(" · ")],
    ["Spark", manifest.versions?.spark ?? run.spark_version ?? summary.apps?.[0]?.spark_version],
    ["Application", [...new Set((summary.apps ?? []).map((app) => app.app_name).filter(Boolean))].join(", ")],
    ["Profile", manifest.profile ?? run.profile],
    ["State", state(manifest, run)],
    ["Window", windowText(summary.window)],
  ];
  return el("div", { class: "head" },
    el("h1", null, el("bdi", null, content.title ?? "Spark run")),
    variant.length > 0 && el("p", { class: "chips" }, variant.map(([name, level]) => el("span", { class: "chip" }, `${name} = ${value(level)}${manifest.treatment_origin?.[name] === "workload" ? " (the workload's own)" : ""}`))),
    el("dl", { class: "facts" }, facts.filter(([, text]) => text && text !== NONE).map(([name, text]) => el("div", null, el("dt", null, name), el("dd", null, el("bdi", null, text))))));
}

function value(level) {
  return typeof level === "object" && level !== null ? JSON.stringify(level) : String(level);
}

function state(manifest, run) {
  const name = manifest.state ?? run.state;
  const code = manifest.exit?.code ?? run.exit_code;
  const signal = manifest.exit?.signal;
  return name && [name, signal ?? (code === null || code === undefined ? null : `exit ${code}`)].filter(Boolean).join(" · ");
}

function windowText(window) {
  if (!window?.name) return null;
  const iterations = window.iterations?.length ? ` (iteration${window.iterations.length > 1 ? "s" : ""} ${window.iterations.join(", ")})` : "";
  return window.name + iterations;
}

export function verdict(summary) {
  const raw = summary.verdict;
  const text = typeof raw === "object" && raw !== null ? raw.text ?? raw.message : raw;
  const doubts = summary.doubts ?? [];
  const worst = ["error", "warning", "info"].find((level) => doubts.some((doubt) => doubt.severity === level));
  return el("div", { class: "verdict", id: "verdict" },
    el("p", null, text ?? "No verdict: this run holds too little to say where the time went."),
    doubts.length > 0
      ? el("a", { class: `badge ${worst}`, href: "#doubts" }, `${doubts.length} doubt${doubts.length > 1 ? "s" : ""}`)
      : el("span", { class: "badge none" }, "no doubts"));
}

export function figures(list) {
  return el("div", { class: "figures", id: "figures" }, (list ?? []).map((figure) => {
    const range = interval(figure.low, figure.high, figure.unit);
    return el("div", { class: figure.reason ? "figure gone" : "figure" },
      el("h3", null, figure.label, help(figure.help)),
      el("p", { class: "big" }, unit(figure.value, figure.unit)),
      figure.reason
        ? el("p", { class: "small" }, figure.reason)
        : el("p", { class: "small" }, [range && `${range} (95 %)`, figure.n !== null && figure.n !== undefined && `n = ${count(figure.n)}`, figure.note].filter(Boolean).join(" · ")));
  }));
}

export function doubts(list) {
  const rank = { error: 0, warning: 1, info: 2 };
  const ordered = [...(list ?? [])].sort((a, b) => (rank[a.severity] ?? 3) - (rank[b.severity] ?? 3));
  return section("doubts", "Doubts", "Reasons not to trust a number of this page, and what to do about each.",
    ordered.length === 0
      ? el("p", { class: "missing" }, "None was raised.")
      : el("ul", { class: "doubts" }, ordered.map((doubt) => el("li", { class: doubt.severity },
        el("p", null, el("span", { class: "severity" }, doubt.severity), " ", el("bdi", null, doubt.message)),
        doubt.remedy && el("p", { class: "remedy" }, "→ ", doubt.remedy),
        el("code", null, doubt.code)))));
}

export function iterations(list) {
  const help = "Executions of the workload inside this launch. Warm-up iterations are shown, and counted in nothing.";
  if (!list?.length) return section("iterations", "Iterations", help, missing("No iteration was marked: the whole application is one window."));
  const longest = Math.max(...list.map((item) => item.elapsed_ns ?? 0), 1);
  const total = (name) => (item) => item.totals?.[name] ?? null;
  return section("iterations", "Iterations", help, table([
    { label: "Iteration", value: (item) => item.iteration, show: (item) => `${item.iteration}${item.warmup ? " (warm-up)" : ""}`, number: true },
    { label: "Elapsed", value: (item) => item.elapsed_ns, show: (item) => bar(item.elapsed_ns, longest, time(item.elapsed_ns)), number: true },
    { label: "Task CPU", value: total("executor_cpu_time_ns"), show: (item) => time(total("executor_cpu_time_ns")(item)), number: true },
    { label: "Task run time", value: total("executor_run_time_ns"), show: (item) => time(total("executor_run_time_ns")(item)), number: true },
    { label: "CPU share", value: share, show: (item) => percent(share(item)), number: true, help: "Task CPU over task run time." },
    { label: "Result rows", value: (item) => item.result_rows_count, show: (item) => count(item.result_rows_count), number: true },
    { label: "Checksum", value: (item) => item.result_checksum, class: "mono" },
    { label: "Status", value: (item) => item.status, show: (item) => words(item.status) },
  ], list), cacheStates(list), counters(list));
}

// Where a state of the page cache was asked for: what was found before the iterations.
function cacheStates(list) {
  const asked = list.map((item) => item.cache).filter((cache) => cache?.state);
  if (!asked.length) return null;
  const shares = asked.map((cache) => cache.resident_ratio).filter((ratio) => ratio !== null && ratio !== undefined);
  const ends = [Math.min(...shares), Math.max(...shares)].map((ratio) => (100 * ratio).toFixed(1));
  const found = shares.length
    ? `${ends[0] === ends[1] ? ends[0] : `${ends[0]} to ${ends[1]}`} % resident before each iteration`
    : `resident share not known: ${asked.find((cache) => cache.reason)?.reason ?? "not recorded"}`;
  return el("p", { id: "page-cache" }, `Page cache: ${asked[0].state}, `, el("bdi", null, found));
}

// What the workload itself counted, latencies among it, in the units of the names.
function counters(list) {
  const names = [...new Set(list.flatMap((item) => Object.keys(item.counters ?? {})))];
  if (!names.length) return null;
  const columns = names.map((name) => {
    const [, label, kind] = /^(.*?)(?:_(ns|bytes|count|ratio))?$/.exec(name);
    return { label: words(label), value: (item) => item.counters?.[name] ?? null, show: (item) => unit(item.counters?.[name], kind), number: true };
  });
  return el("div", { class: "panel", id: "counters" }, el("h3", null, "What the workload counted"), table([
    { label: "Iteration", value: (item) => item.iteration, show: (item) => `${item.iteration}${item.warmup ? " (warm-up)" : ""}`, number: true }, ...columns,
  ], list));
}

function share(item) {
  const run = item.totals?.executor_run_time_ns;
  return run ? item.totals.executor_cpu_time_ns / run : null;
}

// A number with a bar behind it: length is its share of `most`.
export function bar(amount, most, text, colour) {
  return el("span", { class: "bar" },
    el("span", { class: "fill", style: { width: `${Math.max(0, Math.min(100, ((amount ?? 0) / (most || 1)) * 100))}%`, ...(colour ? { background: colour } : {}) } }),
    el("span", null, text));
}
