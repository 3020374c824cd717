"""What held an application up: executors, the driver, or stages; each a story with its numbers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from pyrometer.accounts.ledger.cluster.pod_words import REMEDIES, WAITED
from pyrometer.accounts.ledger.elapsed.schema import Gap, HeldStage
from pyrometer.accounts.plan_schema import Node
from pyrometer.accounts.stage_names import at_file
from pyrometer.core import units
from pyrometer.summary.busy_slots import work
from pyrometer.summary.schema import Summary
from pyrometer.summary.story import Story, short

_DOMINANT = 0.25
"""From this share of the elapsed time on, a stage is spoken of by itself."""
_FIRST_OF_MANY = 0.5
_SHARED = 0.6
_LATE = 1.5
_SIZES = ("RoundRobinPartitioning", "hashpartitioning", "rangepartitioning", "SinglePartition")


def executors_story(summary: Summary) -> Story:
    """Tell how long the application waited for executors."""
    rows = {row.path: row.value_ns or 0 for row in summary.ledger.elapsed_view.rows}
    before = rows.get("executors/before_the_first_query", 0)
    waiting = rows.get("executors/stage_waiting", 0)
    parts = []
    if before:
        parts.append(f"no executor had registered for the first {_of(summary, before)}")
    if waiting:
        parts.append(f"stages waited {_of(summary, waiting)} for executors to register")
    granted, starting, *of_pods = (
        sum(ns for path, ns in rows.items() if path.endswith(f"/{kind}"))
        for kind in ("not_granted", "starting", *WAITED)
    )
    pods = {kind: ns for kind, ns in zip(WAITED, of_pods, strict=True) if ns}
    kinds = []
    if granted:
        inside = [f"{units.duration(ns)} {WAITED[kind]}" for kind, ns in pods.items()]
        listed = ", ".join(inside) or "queue, placement, image"
        kinds.append(f"{units.duration(granted)} without a process ({listed})")
    if starting:
        kinds.append(f"{units.duration(starting)} while that started")
    text = " and ".join(parts) + (f": {', '.join(kinds)}" if kinds else "")
    longest = max(pods, key=lambda kind: pods[kind], default=None)
    if longest and pods[longest] >= starting:
        return Story(text, REMEDIES[longest])
    if starting > granted:
        return Story(
            text,
            "see what executors do before they register: free CPUs of their hosts, Java options,"
            " agents, the size of their class path",
        )
    return Story(
        text,
        "ask the cluster manager why executors came late, or keep some: "
        "spark.dynamicAllocation.minExecutors",
    )


def driver_story(summary: Summary) -> Story:
    """Tell what the driver did while no stage ran."""
    rows = {row.path: row.value_ns or 0 for row in summary.ledger.elapsed_view.rows}
    where = max(
        ("start", "in_query", "between_queries", "end"),
        key=lambda name: rows.get(f"driver/{name}", 0),
    )
    time = _of(summary, rows.get(f"driver/{where}", 0))
    longest = next((gap for gap in summary.elapsed.gaps if gap.where == where), None)
    next_step = None
    if summary.operators or summary.categories:
        next_step = "pyrometer flame RUN --by role,frame"
    elif summary.run.profile is None:
        next_step = "pyrometer run -- COMMAND samples the driver, too"
    if where == "start":
        return Story(f"{time} passed before the first query or job", next_step)
    if where == "end":
        return Story(f"{time} passed after the last query or job", next_step)
    if where == "between_queries":
        text = f"the program itself, between its queries, took {time}"
        return Story(text + _longest(longest), next_step)
    return Story(
        f"queries waited {time} for the driver (planning, scheduling, results)" + _longest(longest),
        next_step,
    )


def _longest(gap: Gap | None) -> str:
    if gap is None:
        return ""
    text = f", {units.duration(gap.length_ns)} of it at once"
    after, before = gap.after_stage_id, gap.before_stage_id
    if gap.sql_id is not None:
        return f"{text} in query {gap.sql_id}"
    if after is not None and before is not None:
        return f"{text}, between stages {after} and {before}"
    return text


@dataclass
class _Group:
    """Stages that are the same one of several iterations, or a single one."""

    iterations_count: int
    stages: list[HeldStage] = field(default_factory=list)

    @property
    def first(self) -> HeldStage:
        return self.stages[0]

    @property
    def held_ns(self) -> int:
        return sum(one.held_ns for one in self.stages)

    @property
    def causes(self) -> dict[str, int]:
        found: dict[str, int] = defaultdict(int)
        for one in self.stages:
            for cause, time in one.causes.items():
                found[cause] += time
        return found

    @property
    def called(self) -> str:
        numbers = sorted(one.stage_id for one in self.stages)
        if len(numbers) == 1:
            return f"stage {numbers[0]}"
        listed = ", ".join(map(str, numbers[:3])) + (", …" if len(numbers) > 3 else "")
        return f"stages {listed}"

    @property
    def repeats(self) -> str | None:
        alike = len(self.stages) == self.iterations_count > 1
        return "one in each iteration" if alike else None

    @property
    def where(self) -> str:
        """The code that they run, and how they repeat, in brackets."""
        return _in_brackets(at_file(self.first.called or ""), self.repeats)


def _in_brackets(code: str, repeats: str | None) -> str:
    known = [one for one in (short(code), repeats) if one]
    return f" ({', '.join(known)})" if known else ""


def stage_story(summary: Summary) -> Story:
    """Tell of the stage that held the application up most, or of all where none stands out."""
    path = summary.elapsed
    groups = _groups(summary)
    total = path.total_ns or 1
    if groups:
        first = groups[0]
        stands_out = first.held_ns >= _FIRST_OF_MANY * path.stages_ns
        if first.held_ns >= _DOMINANT * total or stands_out:
            return _one(summary, first)
    return _all(summary, groups)


def _groups(summary: Summary) -> list[_Group]:
    iterations = len(summary.window.iterations)
    alike: dict[object, _Group] = defaultdict(lambda: _Group(iterations))
    several = iterations > 1
    for number, stage in enumerate(summary.elapsed.stages):
        key: object = (stage.name, stage.tasks_count, _text(summary, stage)) if several else number
        alike[key].stages.append(stage)
    for group in alike.values():
        if len(group.stages) > iterations > 0:
            group.stages.sort(key=lambda one: -one.held_ns)
    return sorted(alike.values(), key=lambda group: -group.held_ns)


def _text(summary: Summary, stage: HeldStage) -> str | None:
    for query in summary.sql:
        if (query.app_index, query.sql_id) == (stage.app_index, stage.sql_id):
            return query.description
    return None


def _one(summary: Summary, group: _Group) -> Story:
    stage = group.first
    causes = group.causes
    cause = max(causes, key=lambda name: causes[name])
    time = _of(summary, causes[cause])
    name = group.where
    many = stage.slots_count
    slots = "" if many is None else f" {units.count(many)}"
    every = {1: "its only slot", 2: "both slots"}.get(many or 0, f"all{slots} slots")
    tasks = units.count(stage.tasks_count)
    ask = f"pyrometer ledger RUN --stage {stage.stage_id}"
    if cause == "too_few_tasks":
        plural = "" if stage.tasks_count == 1 else "s"
        partitions = _partitioning(summary, stage)
        because = f": {partitions[0]}" if partitions else ""
        return Story(
            f"{group.called}{name} ran {tasks} task{plural} on{slots} slots for {time}{because}",
            partitions[1] if partitions else f"give it at least{slots} partitions",
        )
    if cause == "stage_tail":
        return Story(
            f"{group.called}{name} waited {time} for its last tasks{_last(stage)}",
            f"{ask} --task slowest",
        )
    if cause == "waiting_to_launch":
        return Story(
            f"tasks of {group.called}{name} waited {time} to be launched while slots were free",
            f"{ask} (spark.locality.wait holds tasks back for slots near their data)",
        )
    if cause == "finishing":
        return Story(f"{group.called}{name} took {time} to end after its last task", ask)
    if cause == "running":
        return Story(f"{group.called}{name} ran for {time}", f"{ask} --by task")
    alone = stage.own_ratio is None or stage.own_ratio >= _SHARED
    text = (
        f"{group.called}{name} kept {every} busy for {time}"
        if alone
        else f"{group.called}{name} and others at the same time kept {every} busy for {time}"
    )
    doing = work(summary, stage if alone else None)
    return Story(f"{text}: {doing.text}" if doing.text else text, doing.next_step or ask)


def _last(stage: HeldStage) -> str:
    task = stage.last_task
    if task is None:
        return ""
    parts = [f"task {task.task_attempt_id} took {units.duration(task.duration_ns)}"]
    if task.median_ns:
        parts[0] += f", the median {units.duration(task.median_ns)}"
    read, usual = task.read_bytes, task.median_read_bytes
    if read and usual is not None and read >= _LATE * max(usual, 1):
        parts.append(f"it read {units.size(read)}, the median {units.size(usual)}")
    if task.gc_ns and task.gc_ns >= task.duration_ns / 10:
        parts.append(f"{units.duration(task.gc_ns)} of it GC")
    return f": {'; '.join(parts)}"


def _partitioning(summary: Summary, stage: HeldStage) -> tuple[str, str] | None:
    """Find what in the plan gave a stage so few partitions, and what to do about it."""
    nodes: Sequence[Node] = next(
        (
            query.nodes
            for query in summary.sql
            if (query.app_index, query.sql_id) == (stage.app_index, stage.sql_id)
        ),
        (),
    )
    tasks = stage.tasks_count
    for node in nodes:
        text = node.simple_string or ""
        if not any(size in text for size in _SIZES):
            continue
        if "SinglePartition" in text and tasks == 1:
            return (
                "its plan brings all rows into one partition (SinglePartition)",
                "give the aggregate, sort or window before it a key, or make it smaller first",
            )
        if f"({tasks})" in text or f", {tasks})" in text:
            asked = "REPARTITION_BY_NUM" in text
            call = f"repartition({tasks})" if asked else "spark.sql.shuffle.partitions"
            return (
                f"{call} gave it {tasks} partition{'' if tasks == 1 else 's'}",
                f"more partitions than {units.count(stage.slots_count)}: {call}",
            )
    return None


def _all(summary: Summary, groups: Sequence[_Group]) -> Story:
    path = summary.elapsed
    causes: dict[str, int] = defaultdict(int)
    for row in summary.ledger.elapsed_view.rows:
        if row.path.startswith("stages/") and row.path.count("/") == 2:
            causes[row.path.rpartition("/")[2]] += row.value_ns or 0
    n = units.count(path.stages_count)
    text = f"{n} stages took {_of(summary, path.stages_ns)}"
    if groups and groups[0].held_ns:
        first = units.percent(groups[0].held_ns / (path.total_ns or 1))
        longest = groups[0].called + _in_brackets("", groups[0].repeats)
        text += f", the longest, {longest}, {first}"
    if not causes:
        return Story(text)
    cause = max(causes, key=lambda name: causes[name])
    share = units.percent(causes[cause] / (path.stages_ns or 1))
    words = {
        "slots_busy": "all slots were busy",
        "too_few_tasks": "stages had fewer tasks than slots",
        "stage_tail": "stages waited for their last tasks",
        "waiting_to_launch": "tasks waited to be launched while slots were free",
        "finishing": "stages were ending, with no task left",
        "running": "no more is known of their tasks",
    }
    text += f"; for {share} of that {words[cause]}"
    if cause in ("slots_busy", "running"):
        doing = work(summary, None)
        return Story(f"{text}: {doing.text}" if doing.text else text, doing.next_step)
    return Story(text, "pyrometer ledger RUN --by stage")


def _of(summary: Summary, time: int) -> str:
    """Write a time with its share of the elapsed time."""
    share = time / (summary.elapsed.total_ns or 1)
    return f"{units.duration(time)} ({units.percent(share)})"
