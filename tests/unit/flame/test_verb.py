"""``pyrometer flame`` from a run directory to a page and the frames that lead it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.support.report_fixture import CPU_PATHS, manifest, run_rows, write_tables
from typer.testing import CliRunner

from pyrometer.cli.read.flame import app
from pyrometer.core import units
from pyrometer.core.errors import UsageError
from pyrometer.flame import pack as report_flame
from pyrometer.flame import page as flame_page
from pyrometer.flame.page import write_flame
from pyrometer.flame.selection import Selection
from pyrometer.statistics.shares import wilson
from pyrometer.store.imported import import_profiles

ROWS = run_rows()


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("run")
    write_tables(root / "tables", ROWS)
    (root / "manifest.json").write_text(json.dumps(manifest() | {"schema_version": 1}))
    return root


def samples(event: str, **wanted: Any) -> list[dict[str, Any]]:
    found = [s for s in ROWS["samples"] if s["event"] == event and s["iteration"] in (1, 2, 3)]
    return [s for s in found if all(s.get(k) == v for k, v in wanted.items())]


def weight(found: list[dict[str, Any]]) -> int:
    return sum(s["weight"] for s in found)


def test_page_and_frames_of_the_measured_iterations(run_dir: Path) -> None:
    result = CliRunner().invoke(app, [str(run_dir), "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout.splitlines()[-1])
    assert told["schema"] == "pyrometer/flame/1"
    page = run_dir / "flame.html"
    assert told["page"] == str(page)
    assert page.stat().st_size == told["size_bytes"]
    assert (told["event"], told["iterations"]) == ("cpu", [1, 2, 3])
    tasks = samples("cpu", role="task")
    assert told["serves"] == "tasks"
    assert told["weight"] == weight(tasks) < weight(samples("cpu"))

    stacks = {s["stack_id"]: s["frame_ids"] for s in ROWS["stacks"]}
    name = "snappy::InternalUncompressAllTags<>"
    frames = {f["frame_id"]: f["method"] for f in ROWS["frames"]}
    leaves = [s for s in samples("cpu") if frames[stacks[s["java_stack"]][-1]] == name]
    row = next(f for f in told["frames"] if f["frame"] == name)
    assert row["self_weight"] == row["total_weight"] == weight(leaves)
    share = row["self_share"]
    assert share["low"] < share["value"] < share["high"]
    assert share["n"] == len(tasks)
    assert [share["low"], share["high"]] == pytest.approx(wilson(len(leaves), len(tasks)))
    root = next(f for f in told["frames"] if f["frame"] == "java.lang.Thread.run")
    assert root["self_weight"] == 0
    assert root["total_share"]["value"] == 1


def test_what_leads_by_total_is_what_decides(run_dir: Path, tmp_path: Path) -> None:
    made = write_flame(run_dir, tmp_path / "f.html")
    telling = [f.frame for f in sorted(made.frames, key=lambda f: -f.total_weight) if f.decides]
    assert telling[0].endswith("GeneratedIteratorForCodegenStage1.columnartorow_nextBatch_0$")
    assert not {
        f for f in telling if "Thread" in f or "TaskRunner" in f or f.endswith("processNext")
    }
    # A chain of calls without a branch is told by its first frame.
    assert "org.apache.spark.shuffle.sort.BypassMergeSortShuffleWriter.write" in telling
    assert "org.apache.spark.storage.DiskBlockObjectWriter.write" not in telling
    output = CliRunner().invoke(app, [str(run_dir), "-o", str(tmp_path / "g.html")]).stdout
    by_total = output.split("Hottest by total")[1].split("By total without")[0]
    assert "columnartorow_nextBatch" in by_total or "GeneratedIterator" in by_total
    assert "Thread.run" not in by_total
    everything = write_flame(run_dir, tmp_path / "h.html", Selection(threads="all"))
    assert everything.serves is None
    assert everything.weight == weight(samples("cpu"))
    assert write_flame(run_dir, tmp_path / "i.html", Selection(by=("role",))).serves is None


def test_threads_that_idle_between_tasks_are_not_among_the_hottest(tmp_path: Path) -> None:
    rows = run_rows()
    (stack,) = [s["stack_id"] for s in rows["stacks"]][:1]
    extra = {"java_stack": stack, "role": "task", "state": "sleeping", "wait_class": "idle",
             "task_attempt_id": None, "iteration": 1, "weight": 10**12}  # fmt: skip
    wall = next(s for s in rows["samples"] if s["event"] == "wall")
    sleeper = wall | extra | {"role": "helper", "wait_class": "timed_sleep", "stage_id": None}
    rows["samples"] += [wall | extra, sleeper]
    write_tables(tmp_path / "tables", rows)
    (tmp_path / "manifest.json").write_text(json.dumps(manifest() | {"schema_version": 1}))
    made = write_flame(tmp_path, tmp_path / "f.html", Selection("wall"))
    assert made.serves == "tasks"
    assert made.weight == weight(samples("wall"))
    every = write_flame(tmp_path, tmp_path / "f.html", Selection("wall", threads="all"))
    assert every.weight == weight(samples("wall")) + 10**12


def test_without_task_threads_it_opens_on_what_there_is(tmp_path: Path) -> None:
    rows = {k: v for k, v in run_rows().items() if k in ("samples", "stacks", "frames", "apps")}
    plain = {"role": "other", "task_attempt_id": None, "stage_id": None, "iteration": None}
    rows["samples"] = [s | plain for s in rows["samples"]]
    write_tables(tmp_path / "tables", rows)
    (tmp_path / "manifest.json").write_text(json.dumps(manifest() | {"schema_version": 1}))
    made = write_flame(tmp_path, tmp_path / "f.html")
    assert made.serves is None
    assert made.weight == weight([s for s in rows["samples"] if s["event"] == "cpu"])
    with pytest.raises(UsageError, match="no samples of tasks"):
        write_flame(tmp_path, tmp_path / "f.html", Selection(threads="tasks"))


def test_the_cpu_and_waiting_add_up_without_time_counted_twice(
    run_dir: Path, tmp_path: Path
) -> None:
    made = write_flame(run_dir, tmp_path / "f.html", Selection("both", ("state", "operator"), "2"))
    cpu = [s for s in samples("cpu", role="task") if s["iteration"] == 2]
    waits = samples("wall", iteration=2, state="sleeping")
    assert made.weight == weight(cpu) + weight(waits)
    groups = {tuple(g.values): g.weight for g in made.groups}
    assert groups["sleeping", None] == weight(waits)
    operator = CPU_PATHS[0][2]
    assert groups["on CPU", operator] == weight([s for s in cpu if s.get("operator") == operator])
    assert sum(groups.values()) == made.weight
    # Ticks of 10 ms and of 50 ms: fewer than the samples, as equal weights would tell.
    n = made.groups[0].share.n
    assert n == round(made.weight**2 / (weight(cpu) * 1e7 + weight(waits) * 5e7))
    assert 'opening":"#flame?event=both\\u0026by=state%2Coperator' in (
        tmp_path / "f.html"
    ).read_text(encoding="utf-8")


def test_allocations_end_in_their_class(run_dir: Path, tmp_path: Path) -> None:
    made = write_flame(run_dir, tmp_path / "f.html", Selection("alloc", (), "all"))
    row = next(f for f in made.frames if f.frame == "byte[]")
    found = [s for s in ROWS["samples"] if s.get("top_class") == "byte[]"]
    assert (made.unit, row.self_weight) == ("bytes", weight(found))


def test_frames_of_light_runs_come_apart(
    run_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def frames(name: str) -> tuple[int, int]:
        write_flame(run_dir, tmp_path / name)
        text = (tmp_path / name).read_text(encoding="utf-8")
        content = re.search(r'id="content">(.*?)</script>', text)
        assert content
        flame = json.loads(content[1])["flame"]
        deep = flame["deep"].get("deep.frame", {"length": 0})
        return flame["columns"]["flame.frame"]["length"], deep["length"]

    whole, none = frames("whole.html")
    assert none == 0
    monkeypatch.setattr(report_flame, "MANY_FRAMES", 0)
    monkeypatch.setattr(report_flame, "LIGHT", 0.05)
    first, later = frames("apart.html")
    assert first + later == whole
    assert 0 < first < whole


def test_the_note_on_what_was_given_up_offers_nothing_that_cannot_help(
    run_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flame_page, "MAX_FACTS", 10)
    note = write_flame(run_dir, tmp_path / "f.html").note
    assert note is not None
    assert "too many samples to distinguish by task" in note
    assert "iterations" not in note
    assert "pyrometer flame" not in note


@pytest.mark.parametrize(
    ("asked", "remedy"),
    [
        (Selection(event="cycles"), "--event cpu|wall|alloc|both"),
        (Selection(by=("stage", "colour")), "executor"),
        (Selection(iteration="9"), "--iteration measured | all | 0 | 1 | 2 | 3"),
    ],
)
def test_what_the_run_lacks_is_told(
    run_dir: Path, tmp_path: Path, asked: Selection, remedy: str
) -> None:
    with pytest.raises(UsageError) as error:
        write_flame(run_dir, tmp_path / "f.html", asked)
    assert remedy in (error.value.remedy or "")
    assert not (tmp_path / "f.html").exists()


def test_a_run_without_samples_has_no_flame_graph(tmp_path: Path) -> None:
    write_tables(tmp_path / "tables", {k: ROWS[k] for k in ("apps", "tasks")})
    with pytest.raises(UsageError, match="no profiler samples"):
        write_flame(tmp_path)


@pytest.mark.parametrize("heavy", [12_000, 1 << 40])
def test_folded_stacks_are_as_many_samples_as_they_weigh(tmp_path: Path, heavy: int) -> None:
    run = imported(tmp_path, f"main;f {heavy}\nmain;g 345\n")
    made = write_flame(run)
    whole = heavy + 345
    assert (made.unit, made.weight, made.samples_count) == ("samples", whole, whole)
    share = next(frame for frame in made.frames if frame.frame == "g").self_share
    assert share.n == whole
    assert [share.low, share.high] == pytest.approx(wilson(345, whole))
    said = CliRunner().invoke(app, [str(run)]).stdout
    assert f"CPU: {units.count(whole)} samples (all threads" in said


def test_weights_that_are_no_times_have_their_unit(tmp_path: Path) -> None:
    run = imported(tmp_path, "main;f 12345\n", unit="cycles")
    said = CliRunner().invoke(app, [str(run)]).stdout
    assert f"CPU: {units.count(12_345)} cycles in 1 sample (" in said


def test_an_event_may_have_any_name(tmp_path: Path) -> None:
    made = write_flame(imported(tmp_path, "main;f 7\n", event="it's"))
    assert (made.event, made.weight) == ("it's", 7)


def imported(tmp_path: Path, text: str, **about: str) -> Path:
    (tmp_path / "x.folded").write_text(text)
    import_profiles([tmp_path / "x.folded"], tmp_path / "run", **about)
    return tmp_path / "run"


def test_text_names_groups_and_frames(run_dir: Path, tmp_path: Path) -> None:
    arguments = [str(run_dir), "-o", str(tmp_path / "f.html"), "--by", "role, what"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "task › decode" in result.stdout
    assert "Hottest by self" in result.stdout
