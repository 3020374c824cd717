// Runs of the same treatment over time, with the change points of their level.
import { el, missing, section, svg } from "../ui/dom.js";
import { p, seconds, within } from "../ui/estimates.js";
import { date, signedPercent } from "../ui/format.js";
import { axisBelow, axisLeft, drawing, extent, linear, line, reach, SHAPES, steps, wide, words } from "../ui/plot.js";
import { table } from "../ui/table.js";
import { facts } from "../ui/tip.js";

const HEIGHT = 240;

export function head({ series_count: all, changes_count: changes, slower_count: slower }) {
  return el("div", { class: "head", id: "history" }, el("h1", null, "History of runs"), el("p", null,
    `${all} series, each of one workload, treatment, profile and machine; ${changes} change${changes === 1 ? "" : "s"}, ${slower} to a level that is slower still today.`));
}

export function seriesSection({ series, series_count: all }) {
  return section("series", "Series", "Each point is a run. Steps are levels with the 95 % interval of their geometric mean; a line marks the first run of a level, its band the 95 % interval of that position. Changes are found by E-divisive means with a permutation test.",
    series.map(seriesPanel),
    all > series.length && el("p", { class: "note" }, `${all - series.length} more series are in --csv and --json.`));
}

export function unreadSection(unread) {
  return section("unread", "Skipped", "Folders that could not be read, or whose times are of another kind.", table([
    { label: "Folder", value: ([place]) => place, show: ([place]) => el("bdi", null, place), class: "mono" },
    { label: "Why", value: ([, reason]) => reason, show: ([, reason]) => el("bdi", null, reason) },
  ], Object.entries(unread)));
}

function seriesPanel(one) {
  const { subject } = one;
  const name = [subject.workload, subject.treatment].filter(Boolean).join(" · ");
  return el("div", { class: "panel series" },
    el("h3", null, el("bdi", null, name)),
    el("p", { class: "note" }, el("bdi", null, [subject.scale && `scale ${subject.scale}`, `profile ${subject.profile}`, subject.host].filter(Boolean).join(" · ")),
      one.left_out_count > 0 && ` · ${one.left_out_count} older runs are not analysed`),
    picture(one, name),
    one.reason ? missing(`Not searched for changes: ${one.reason}.`) : changeTable(one));
}

function changeTable({ changes }) {
  return table([
    { label: "Since", value: (change) => change.wall_ns, show: (change) => date(change.wall_ns) },
    { label: "Run", value: (change) => change.index, show: (change) => `${change.index + 1} (${change.place.low + 1} to ${change.place.high + 1})`, number: true, help: "First run of the new level, with the 95 % interval of its position." },
    { label: "Change", value: (change) => change.change.value, show: (change) => within(change.change, signedPercent), number: true },
    { label: "Verdict", value: (change) => change.verdict },
    { label: "p", value: (change) => change.p, show: (change) => p(change.p), number: true, help: "Share of permutations with an equally strong change." },
    { label: "Now", value: (change) => change.now.value, show: (change) => within(change.now, signedPercent), number: true, help: "The newest level relative to the one before this change." },
    { label: "What else changed", value: (change) => change.facts.length, show: (change) => (change.facts.length ? el("ul", null, change.facts.map((fact) => el("li", null, el("bdi", null, `${fact.name}: ${fact.before} → ${fact.behind}`)))) : "nothing recorded") },
    { label: "First run", value: (change) => change.folder, show: (change) => el("bdi", null, change.folder), class: "mono" },
  ], changes, { empty: "No change." });
}

function picture({ runs, levels, changes }, name) {
  const width = wide();
  const x = linear(-0.5, runs.length - 0.5, 90, width - 50);
  const [low, high] = extent([...runs.map((run) => run.seconds), ...levels.flatMap((level) => [level.low, level.high])]);
  const y = linear(low, high, HEIGHT - 34, 12);
  const starts = [0, ...changes.map((change) => change.index), runs.length];
  const marks = runs.map((run, at) => ({
    node: svg("path", { d: SHAPES[0], transform: `translate(${x(at)} ${y(run.seconds)})`, class: "finished" }),
    label: `Run ${at + 1}, ${date(run.wall_ns)}: ${seconds(run.seconds)}`,
    tip: () => facts(`Run ${at + 1}`, [["started", date(run.wall_ns)], ["time", seconds(run.seconds)], ["level", `${run.level + 1} of ${levels.length}`], ["folder", run.folder]]),
  }));
  return drawing(name, `${runs.length} runs, ${changes.length} changes.`, width, HEIGHT,
    axisLeft(y, steps(low, high, 5), 90, width - 50, seconds),
    axisBelow(x, steps(0, runs.length - 1, 10).filter(Number.isInteger), HEIGHT - 34, HEIGHT - 30, (at) => String(at + 1)),
    changes.map((change) => [
      svg("rect", { x: x(change.place.low - 0.5), y: 12, width: x(change.place.high) - x(change.place.low) || 1, height: HEIGHT - 46, class: "block" }),
      line(x(change.index - 0.5), 12, x(change.index - 0.5), HEIGHT - 34, "trend"),
      words(x(change.index - 0.5) + 5, 22, signedPercent(change.change.value), "tick"),
    ]),
    levels.map((level, at) => {
      const [from, to] = [x(starts[at] - 0.5), x(starts[at + 1] - 0.5)];
      const [top, bottom] = [level.high ?? level.value, level.low ?? level.value].map(y);
      return [svg("rect", { x: from, y: top, width: to - from, height: Math.max(1, bottom - top), class: "level-band" }), line(from, y(level.value), to, y(level.value), "level-mean")];
    }),
    reach(marks));
}
