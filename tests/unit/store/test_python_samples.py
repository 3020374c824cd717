"""Samples of Python workers: from lines to the operator that drove them, and to the summary."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.support.tables import HOST, MS, PID, StageSpec, World, mono

from pyrometer.attribution.terminal import category_lines, operator_lines
from pyrometer.core.units import percent
from pyrometer.store import Run
from pyrometer.store.python_samples import ingest_python
from pyrometer.store.sql.host_views import HostRows
from pyrometer.store.tables import Tables
from pyrometer.summary.schema import Summary
from pyrometer.summary.summary import summary
from pyrometer.terminal.drawing import Look, put

LIB = "/usr/lib/python3.11"
LOOP = ("pyspark.worker", "main", f"{LIB}/site-packages/pyspark/worker.py", 9)


def frame(module: str, name: str, file: str, line: int) -> dict[str, Any]:
    return {"m": module, "f": name, "s": file, "l": line}


def own(name: str, line: int = 3) -> tuple[str, str, str, int]:
    return ("__main__", name, "/home/me/app.py", line)


STACKS = [
    [LOOP, own("run.<locals>.slow")],
    [LOOP, own("<lambda>"), ("json.decoder", "decode", f"{LIB}/json/decoder.py", 4)],
    [LOOP, ("pyspark.serializers", "dump_stream", f"{LIB}/site-packages/pyspark/s.py", 5)],
    [("pyspark.daemon", "worker", "d.py", 1), ("importlib._bootstrap", "_load", "<frozen>", 2)],
]


def worker(pid: int, rows: list[tuple[int, int, int, int | None]], since: int = 1) -> list[str]:
    """Lines of a worker: rows of (ms, CPU in ms, stack, task)."""
    common = {"pid": pid, "since": since}
    made: list[dict[str, Any]] = [
        {"k": "stack", "id": n, "cut": False, "frames": [frame(*f) for f in stack], **common}
        for n, stack in enumerate(STACKS)
    ]
    columns = {
        "t": [mono(ms) for ms, *_ in rows],
        "tid": [pid] * len(rows),
        "cpu": [cpu * MS for _, cpu, _, _ in rows],
        "off": [MS] * len(rows),
        "stack": [stack for *_, stack, _ in rows],
        "task": [task for *_, task in rows],
    }
    made.append({"k": "samples", "own": 2 * MS, "at": mono(rows[-1][0]), **columns, **common})
    made.append({"k": "process", "kind": "worker", "jvm": PID, "at": 5, **common})
    return [json.dumps(line) for line in made]


def ingest(tmp_path: Path, world: World, lines: list[str]) -> dict[str, Any]:
    folder = world.write(tmp_path)
    raw = tmp_path / "python-worker-1.ndjson"
    raw.write_text("\n".join(lines) + "\n")
    told: dict[str, Any] = json.loads(ingest_python([raw], folder / "tables", [HOST]))
    return told


def account(tmp_path: Path, world: World, lines: list[str]) -> Summary:
    assert ingest(tmp_path, world, lines)["doubts"] == []
    with Run.open(tmp_path) as run:
        return summary(run, "application")


def placed(tmp_path: Path, world: World, lines: list[str]) -> dict[tuple[str, int | None], int]:
    """CPU in ms by operator and node, as samples have it."""
    ingest(tmp_path, world, lines)
    with Tables(tmp_path / "tables") as tables:
        rows = tables.query(
            f"SELECT operator, node_id, sum(weight)::BIGINT // {MS} FROM samples"
            " WHERE event = 'cpu' AND source = 'python' AND role = 'python'"
            " AND stage_id IS NOT NULL GROUP BY ALL"
        )
    return {(operator, node_id): used for operator, node_id, used in rows}


def world() -> World:
    return World([StageSpec([200], sql_id=0), StageSpec([100], sql_id=None)])


def node(world: World, node_id: int, name: str, text: str, stage: int | None = 0) -> None:
    world.add(
        "plan_nodes", app_index=0, sql_id=0, plan_version=0, is_final=True, node_id=node_id,
        parent_node_id=0, depth=1, name=name, simple_string=text,
    )  # fmt: skip
    if stage is not None:
        world.add(
            "node_metrics", app_index=0, sql_id=0, plan_version=0, node_id=node_id,
            metric="data sent to Python workers", accumulator_id=100 + node_id, stage_id=stage,
            updates_count=1,
        )  # fmt: skip


def of(made: Summary) -> dict[tuple[str, int | None], int]:
    return {
        (o.operator, o.node_id): o.python_cpu_ns // MS for o in made.operators if o.python_cpu_ns
    }


# Task 0 runs from 123 ms to 323 ms in a query, task 1 from 347 ms on outside of any.
ROWS: list[tuple[int, int, int, int | None]] = [
    (140, 30, 3, None), (150, 10, 0, 0), (160, 40, 2, 0), (250, 5, 1, None), (380, 20, 1, 1),
]  # fmt: skip


def test_cpu_of_workers_goes_to_the_node_that_drove_them(tmp_path: Path) -> None:
    one = world()
    node(one, 5, "BatchEvalPython", "BatchEvalPython [slow(id#0L)#2], [pythonUDF0#5]")
    made = account(tmp_path, one, worker(77, ROWS))
    # What comes before the first task was done to start it; what comes after one was for it.
    assert of(made) == {("BatchEvalPython", 5): 85, ("RDD Python", None): 20}
    python = made.python
    assert (python.workers_count, python.workers_ns, python.in_tasks_ns) == (1, 105 * MS, 105 * MS)
    work = {w.work: w.on_cpu_ns // MS for w in python.work}
    assert work == {"serialisation": 40, "import": 30, "function": 35}
    functions = {f.function: f.on_cpu_ns // MS for f in python.functions}
    assert functions == {"__main__.<lambda>": 25, "__main__.run.<locals>.slow": 10}
    assert sum(c.share or 0 for c in made.categories) == pytest.approx(1)
    (category,) = (c for c in made.categories if c.category == "python")
    assert category.on_cpu_ns == 105 * MS
    (sampler,) = (i for i in made.instruments if i.name == "sampler in Python")
    assert sampler.cpu_ns == 2 * MS


@pytest.mark.parametrize("name", ["g[1]", "q?x", "pid=5"])
def test_samples_are_read_by_the_letter_of_their_path(tmp_path: Path, name: str) -> None:
    found = placed(tmp_path / name, world(), worker(77, ROWS))
    assert found == placed(tmp_path / "plain", world(), worker(77, ROWS)) != {}


def test_operators_and_kinds_of_work_are_shares_of_one_base(tmp_path: Path) -> None:
    one = world()
    node(one, 5, "BatchEvalPython", "BatchEvalPython [slow(id#0L)#2], [pythonUDF0#5]")
    made = account(tmp_path, one, worker(77, ROWS))
    base = made.cpu_base
    assert base.name == "tasks and their Python workers"
    assert base.workers_ns == made.python.in_tasks_ns
    assert base.total_ns == sum(c.on_cpu_ns or 0 for c in made.categories)
    # Nothing is left out of either division, and both are of the same whole.
    shares = [o.share_with_workers or 0 for o in made.operators]
    assert sum(shares) + (made.unmapped.share_with_workers or 0) == pytest.approx(1, abs=0.01)
    assert sum(c.share or 0 for c in made.categories) == pytest.approx(1)
    (driven,) = (o for o in made.operators if o.operator == "BatchEvalPython")
    (category,) = (c for c in made.categories if c.category == "python")
    assert driven.share_with_workers == pytest.approx(
        ((driven.on_cpu_ns or 0) + 85 * MS) / (base.total_ns or 1)
    )
    assert (category.share or 0) <= sum(
        o.share_with_workers or 0 for o in made.operators if o.python_cpu_ns
    )
    (plan,) = (n for q in made.sql for n in q.nodes if n.node_id == 5)
    assert plan.python_cpu_ns == 85 * MS


def test_the_terminal_names_the_base_and_shows_shares_of_it(tmp_path: Path) -> None:
    one = world()
    node(one, 5, "BatchEvalPython", "BatchEvalPython [slow(id#0L)#2], [pythonUDF0#5]")
    made = account(tmp_path, one, worker(77, ROWS))
    console = Console(record=True, width=110, file=StringIO())
    look = Look.of(console)
    put(console, operator_lines(made.operators, made.unmapped, made.told, [], look))
    put(console, category_lines(made.categories, look))
    text = console.export_text()
    assert text.count("CPU of tasks and their Python workers") == 2
    (driven,) = (o for o in made.operators if o.operator == "BatchEvalPython")
    row = next(line for line in text.splitlines() if "BatchEvalPython" in line)
    assert percent(driven.share_with_workers) in row


def test_without_cpu_of_task_threads_workers_have_no_share_of_it(tmp_path: Path) -> None:
    bare = world()
    bare.rows["samples"] = [row for row in bare.rows["samples"] if row["event"] != "cpu"]
    made = account(tmp_path, bare, worker(77, ROWS))
    (category,) = made.categories
    # No stack says what the rest was: it is no reason to call it all Python.
    assert category.share == pytest.approx(105 * MS / (made.cpu_base.total_ns or 1))
    assert (category.share or 1) < 1


def test_of_several_nodes_the_functions_name_tells(tmp_path: Path) -> None:
    two = world()
    node(two, 5, "BatchEvalPython", "BatchEvalPython [slow(id#0L)#2], [pythonUDF0#5]")
    node(two, 6, "ArrowEvalPython", "ArrowEvalPython [<lambda>(id#0L)#2], [pythonUDF0#5], 200")
    # A worker serves one node: its other stacks of that task are for the same.
    lines = worker(77, [(150, 10, 0, 0), (170, 3, 2, 0)])
    lines += worker(78, [(150, 7, 1, 0)]) + worker(79, [(150, 1, 2, 0)])
    assert placed(tmp_path, two, lines) == {
        ("BatchEvalPython", 5): 13, ("ArrowEvalPython", 6): 7, ("Python", None): 1,
    }  # fmt: skip


def test_of_nodes_that_share_a_function_the_one_that_names_no_more_than_was_seen(
    tmp_path: Path,
) -> None:
    two = world()
    both = "BatchEvalPython [slow(id#0L)#2, <lambda>(slow(id#0L)#2)#3], [pythonUDF0#5]"
    node(two, 5, "BatchEvalPython", both)
    node(two, 6, "BatchEvalPython", "BatchEvalPython [slow(id#0L)#2], [pythonUDF0#5]")
    lines = worker(77, [(150, 10, 0, 0), (170, 3, 1, 0)]) + worker(78, [(150, 7, 0, 0)])
    lines += worker(79, [(150, 2, 2, 0)])
    assert placed(tmp_path, two, lines) == {
        ("BatchEvalPython", 5): 13, ("BatchEvalPython", 6): 7, ("BatchEvalPython", None): 2,
    }  # fmt: skip


def test_without_metrics_the_only_python_node_is_it(tmp_path: Path) -> None:
    one = world()
    node(one, 5, "MapInPandas", "MapInPandas f(id#0L)#1", stage=None)
    found = placed(tmp_path, one, worker(77, [(150, 10, 2, 0)]))
    assert found == {("MapInPandas", 5): 10}


def test_samples_of_the_jvm_count_as_before(tmp_path: Path) -> None:
    def jvm(made: Summary) -> list[Any]:
        rows = [
            o.model_dump(exclude={"python_cpu_ns", "python_samples_count", "share_with_workers"})
            for o in made.operators
        ]
        # What stands beside the tasks' time for their Python workers is new, and added to nothing.
        memos = [memo for memo in made.ledger.slot_view.memos if memo.path != "python_workers"]
        slots = made.ledger.slot_view.model_copy(update={"memos": memos})
        ledger = made.ledger.model_copy(update={"slot_view": slots})
        return [*(r for r in rows if r["samples_count"]), ledger, made.code, made.cpu]

    (tmp_path / "a").mkdir()
    with Run.open(world().write(tmp_path / "a")) as run:
        without = summary(run, "application")
    # A weight of a microsecond must not become the unit of the profiler's.
    made = account(tmp_path, world(), worker(77, [(150, 0, 0, 0), (151, 1, 0, 0)]))
    assert jvm(made) == jvm(without)
    assert without.python.reason is not None
    assert [c.category for c in without.categories if c.category == "python"] == []


def test_a_process_id_that_comes_again_is_another_process(tmp_path: Path) -> None:
    first = worker(77, [(150, 10, 0, 0)])
    again = [line.replace("slow", "other") for line in worker(77, [(380, 20, 0, 1)], since=9)]
    ingest(tmp_path, world(), first + again)
    with Tables(tmp_path / "tables") as tables:
        found = tables.query(
            f"SELECT f.method, sum(x.weight)::BIGINT // {MS} FROM samples x JOIN stacks s"
            " ON s.stack_id = x.java_stack JOIN frames f ON f.frame_id = s.frame_ids[2]"
            " WHERE x.event = 'cpu' AND x.source = 'python' AND x.role = 'python' GROUP BY 1"
        )
    assert dict(found) == {"run.<locals>.slow": 10, "run.<locals>.other": 20}


def test_what_cannot_be_read_or_placed_is_told(tmp_path: Path) -> None:
    lines = worker(77, [(150, 10, 0, 0), (160, 5, 0, 99)])
    error = json.dumps({"k": "error", "message": "OSError: full", "pid": 77, "since": 1})
    told = ingest(tmp_path, world(), ['{"k":"samp', "", *lines, error, "\x00\x00"])
    found = {d["code"]: d["count"] for d in told["doubts"]}
    assert found == {
        "python_line_unreadable": 2, "python_sampler_stopped": 1, "python_task_unknown": 1,
    }  # fmt: skip
    with Tables(tmp_path / "tables") as tables:
        (used,) = tables.query(
            "SELECT sum(weight), sum(weight) FILTER (task_attempt_id = 0) FROM samples"
            " WHERE event = 'cpu' AND source = 'python' AND role = 'python'"
        )
    assert used == (15 * MS, 10 * MS)


def test_a_wrapper_between_python_and_the_jvm(tmp_path: Path) -> None:
    lines = [line.replace(f'"jvm": {PID}', '"jvm": 999') for line in worker(77, ROWS)]
    assert sum(placed(tmp_path, world(), lines).values()) == 105


def test_workers_of_one_number_on_two_hosts_work_for_their_own_host(tmp_path: Path) -> None:
    made = world()
    # The second stage's task ran on another host, in a JVM of the same number.
    for table in ("spans", "processes"):
        for row in list(made.rows[table]):
            if table == "processes":
                made.add("processes", **{**row, "host": "west", "role": "executor"})
            elif row["stage_id"] == 1:
                row["host"] = "west"
    folder = made.write(tmp_path)
    files = []
    for name, task, at in (("east", 0, 150), ("west", 1, 370)):
        file = tmp_path / name / "python-worker-4242.ndjson"
        file.parent.mkdir()
        file.write_text("\n".join(worker(777, [(at, 40, 0, task)])) + "\n")
        files.append(file)
    told = json.loads(ingest_python(files, folder / "tables", [HOST, "west"]))
    assert told["doubts"] == []
    with Tables(folder / "tables", HostRows.AS_RECORDED) as tables:
        rows = tables.query(
            "SELECT host, pid, stage_id, sum(weight)::BIGINT FROM samples WHERE source = 'python'"
            " AND event = 'cpu' AND role = 'python' GROUP BY ALL ORDER BY host"
        )
    assert rows == [(HOST, 777, 0, 40 * MS), ("west", 777, 1, 40 * MS)]
