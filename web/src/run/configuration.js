// The applications of a run: versions, executors, and their settings, searchable.
import { bdi, el, replace } from "../ui/dom.js";
import { bytes, count, date, gone } from "../ui/format.js";
import { table } from "../ui/table.js";

const ORIGINS = { set: "set", pyrometer: "Pyrometer", spark: "Spark", jvm: "JVM" };
const [LEAST, MOST] = [10, 60];

export function applications(apps) {
  if (!apps?.length) return null;
  const view = el("div");
  const draw = (app) => replace(view, el("div", { class: "two" }, panel("Application", identity(app)), panel("Resources", resources(app))), settings(app));
  draw(apps[0]);
  if (apps.length === 1) return view;
  const pick = el("select", { id: "app-pick", on: { change: () => draw(apps[Number(pick.value)]) } }, apps.map((app, index) => el("option", { value: index }, `${app.app_name ?? "unnamed"} · ${app.app_id ?? index}`)));
  return [el("p", { class: "controls" }, el("label", { for: "app-pick" }, "Application "), pick), view];
}

function panel(title, pairs) {
  return el("div", { class: "panel" }, el("h3", null, title), el("dl", { class: "pairs" }, pairs.filter(([, value]) => !gone(value) && value !== "").map(([name, value]) => [el("dt", null, name), el("dd", null, bdi(value))])));
}

const identity = (app) => [
  ["Name", app.app_name], ["Id", app.app_id], ["User", app.user], ["Spark", app.spark_version], ["Java", app.java_version], ["Scala", app.scala_version],
  ["Started", gone(app.start_wall_ns) ? null : date(app.start_wall_ns)], ["Ended", gone(app.end_wall_ns) ? "not in the log" : date(app.end_wall_ns)],
];

const resources = (app) => [
  ["Master", app.master],
  ...(app.executors ?? []).map((group, index) => [index ? "" : "Executors", executors(group, app)]),
  ["Executor memory", app.executor_memory], ["Driver memory", app.driver_memory],
];

// "3 × 8 cores on 2 hosts, 19.8 GB for storage each; 1 removed"
export function executors(group, app) {
  const local = app.master?.startsWith("local") && group.executors_count === 1;
  const cores = gone(group.cores_count) ? "cores unknown" : `${count(group.cores_count)} core${group.cores_count === 1 ? "" : "s"}`;
  const words = local ? `in the driver: ${cores}` : `${count(group.executors_count)} × ${cores} on ${count(group.hosts_count)} host${group.hosts_count === 1 ? "" : "s"}`;
  return [words, !gone(group.storage_memory_bytes) && `, ${bytes(group.storage_memory_bytes)} for storage${local ? "" : " each"}`, group.removed_count > 0 && `; ${count(group.removed_count)} removed`].filter(Boolean).join("");
}

function settings(app) {
  const all = app.settings ?? [];
  const title = el("h3", null, "Configuration");
  if (!all.length) return [title, el("p", { class: "missing" }, "The event log has no environment: no settings, no versions.")];
  // At first what somebody chose; the rest follows on demand, or by a search.
  const first = Math.min(MOST, Math.max(LEAST, all.filter((item) => item.origin === "set").length));
  const view = el("div");
  const found = el("span", { class: "note", "aria-live": "polite" });
  const box = el("input", { type: "search", id: "conf-search", placeholder: "Search names and values", on: { input: () => draw() } });
  const columns = [
    { label: "Setting", value: (item) => item.name, show: (item) => bdi(item.name), class: "mono setting" },
    { label: "Value", value: (item) => item.value, show: (item) => el("bdi", null, item.value === "" ? "(empty)" : item.value), class: "mono wrap" },
    ...(all.some((item) => !gone(item.default)) ? [{ label: "Default", value: (item) => item.default, show: (item) => (item.is_default ? el("span", { class: "aside" }, "the same") : bdi(item.default)), class: "mono wrap", help: "What Spark of this version takes where nothing is set, as far as Pyrometer knows it." }] : []),
    { label: "Origin", value: (item) => ORIGINS[item.origin] ?? item.origin, class: "origin", help: "Set: by the application, its submission or the platform. Pyrometer: for measuring. Spark: by Spark itself when it started. JVM: a system property of the driver. What nobody set is not in the log." },
  ];
  function draw() {
    const rows = matching(all, box.value);
    found.textContent = box.value.trim() ? `${count(rows.length)} of ${count(all.length)}` : "";
    replace(view, table(columns, rows, { first, empty: "No setting matches." }));
  }
  draw();
  return [title,
    el("p", { class: "note" }, "What was set to another value than Spark's own comes first. Values of settings that hold secrets are struck.", app.settings_count > all.length && ` The first ${count(all.length)} of ${count(app.settings_count)} settings.`),
    el("p", { class: "controls" }, el("label", { for: "conf-search" }, "Search "), box, found), view];
}

// Settings that hold every word of a query, whatever the case.
export function matching(settings, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return words.length ? settings.filter((item) => words.every((word) => `${item.name}=${item.value}`.toLowerCase().includes(word))) : settings;
}
