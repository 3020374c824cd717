"""The one screen of a comparison of invented runs, kept word for word."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from tests.support import golden
from tests.support.compared import Job
from tests.support.tables import StageSpec, World

from pyrometer.compare.runs import compare_runs
from pyrometer.compare.runs_terminal import LINES, show_runs

GOLDENS = {"screen-80.txt", "screen-unlike-80.txt", "all-80.txt"}
BASE = Job(conf={"spark.executor.memory": "4g", "spark.sql.shuffle.partitions": "16"})


def slow(job: Job) -> Job:
    """Give it more rows, garbage collection, a slow host and other settings."""
    stages = list(job.stages)
    stages[1] = replace(stages[1], rows=5_000_000, gc_ms=200)
    conf = {"spark.executor.memory": "2g", "spark.sql.shuffle.partitions": "8"}
    return replace(job, stages=tuple(stages), slow_host=2.0, conf=conf)


def job_of(folder: Path, name: str, times: list[int], app: str) -> Path:
    folder.joinpath(name).mkdir()
    world = World([StageSpec(times, iteration=1), StageSpec([200], iteration=1, gap_ms=50)])
    world.rows["apps"][0]["app_name"] = app
    return world.write(folder / name)


def text(a: Path, b: Path, whole: bool = False) -> str:
    out = io.StringIO()
    console = Console(file=out, width=80, highlight=False, color_system=None)
    show_runs(console, compare_runs([a], [b], margin=0.02), whole)
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    assert all(len(line) <= 80 for line in lines)
    return "\n".join(lines) + "\n"


def test_causes_and_what_is_not_the_same_fit_a_screen(tmp_path: Path) -> None:
    a, b = BASE.write(tmp_path / "A"), slow(BASE).write(tmp_path / "B")
    shown = text(a, b)
    assert len(shown.splitlines()) <= LINES
    golden.check("compare/screen-80.txt", shown)
    golden.check("compare/all-80.txt", text(a, b, whole=True))


def test_sides_with_long_names_are_a_and_b_on_the_screen(tmp_path: Path) -> None:
    a = job_of(tmp_path, "nightly-before-the-change", [400, 300], "nightly [b]")
    b = job_of(tmp_path, "nightly-after-the-change", [900, 300], "something \x1b[31melse")
    shown = text(a, b)
    assert len(shown.splitlines()) <= LINES
    assert "A nightly-before-the-change, B nightly-after-the-change" in shown
    assert "\x1b" not in shown
    golden.check("compare/screen-unlike-80.txt", shown)


def test_every_golden_is_referenced() -> None:
    assert {path.name for path in (golden.FOLDER / "compare").iterdir()} == GOLDENS
