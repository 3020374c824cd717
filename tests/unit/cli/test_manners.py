"""What the command line says where a word is almost right, and what it says first."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.cli import inside
from tests.support.report_fixture import run_rows, write_tables

from pyrometer.collect.doctor.examine import can_run, verdict
from pyrometer.collect.doctor.finding import Finding

WORKS = Finding("os", "T1", True, "loaded")


@pytest.mark.parametrize("name", ["exp", "exp.yaml"])
def test_a_new_experiment_has_its_ending_once(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert inside(capsys, "experiment", "new", name).code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["exp.yaml"]
    assert (tmp_path / "exp.yaml").read_text().startswith("name: exp\n")


def test_an_unknown_workload_brings_the_nearest_name_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    done = inside(capsys, "run", "parqet-scan")
    assert done.code == 2
    assert "did you mean 'parquet-scan'?" in done.stderr
    assert "pyrometer workloads" in done.stderr
    assert "interval-join" not in done.stderr


@pytest.mark.parametrize(
    ("findings", "said"),
    [
        ([], "full profile works"),
        (
            [Finding("counters", "hardware", False, "")],
            "full profile works; missing: hardware counters",
        ),
        (
            [Finding("stacks.cpu", None, False, "")],
            "light profile works, full without stacks.cpu",
        ),
        ([Finding("plugin", None, False, "")], "no run is possible: plugin is missing"),
        (
            [Finding("setting_left", None, False, "")],
            "full profile works; left by dead runs: kernel settings",
        ),
    ],
)
def test_doctor_sums_up(findings: list[Finding], said: str) -> None:
    assert verdict([WORKS, *findings]) == said
    assert can_run([WORKS, *findings]) == (not said.startswith("no run"))


def test_doctor_needs_the_probe() -> None:
    assert verdict([Finding("os", "T1", False, "")]) == "no run is possible: os is missing"


def test_printed_commands_work_where_the_name_is_not_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    binary = tmp_path / ".venv" / "bin" / "pyrometer"
    binary.parent.mkdir(parents=True)
    binary.write_text("#!/bin/sh\n")
    binary.chmod(0o755)
    write_tables(tmp_path / "run" / "tables", run_rows())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(binary)])
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    said = inside(capsys, "show", "run").stdout
    assert "next: .venv/bin/pyrometer " in said
    assert "more: .venv/bin/pyrometer show run --all" in said
    monkeypatch.setenv("PATH", f"{binary.parent}:/usr/bin:/bin")
    said = inside(capsys, "show", "run").stdout
    assert "next: pyrometer " in said
    assert "more: pyrometer show run --all" in said


def test_the_name_that_a_run_is_given_by_default_fits_the_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = "pyrometer-runs/20261125-140507-parquet-scan"
    write_tables(tmp_path / run / "tables", run_rows())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    said = inside(capsys, "show", run).stdout
    assert f"more: pyrometer show {run} --all" in said
    assert "RUN" not in said
