"""The verbs show, ledger and ingest: what they print, and their codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.support.cli import inside
from tests.support.tables import StageSpec, World

from pyrometer.collect.launch.record import new_manifest
from pyrometer.store.manifest import Host, write_manifest
from pyrometer.trial.trial import Trial

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    stages = [StageSpec([40, 30], iteration=0), StageSpec([40, 30, 20], iteration=1)]
    return World(stages).write(tmp_path_factory.mktemp("run"))


def test_show_json_is_the_last_line_of_stdout_and_documented(
    run_dir: Path, capsys: Capture
) -> None:
    done = inside(capsys, "show", str(run_dir), "--json")
    assert done.code == 0, done.stderr
    shown = json.loads(done.stdout.splitlines()[-1])
    assert shown["schema"] == "pyrometer/show/1"
    assert shown["totals"]["tasks_count"] == 3
    page = (Path(__file__).parents[3] / "docs/reference/json/show.md").read_text("utf-8")
    block = page.partition("## All fields")[2].split("```")[1]
    at_the_top = set(re.findall(r"(?:^| {2,})([a-z_]+)\b", block, re.MULTILINE))
    assert set(shown) - {"schema"} <= at_the_top
    views = {"slot_view", "core_view", "elapsed_view"}
    assert set(shown["ledger"]) == {*views, "checks", "hosts"}


def test_show_tells_the_virtual_machine_and_its_host(tmp_path: Path, capsys: Capture) -> None:
    run = World([StageSpec([40, 30])]).write(tmp_path)
    cpus = [{"cpu": None, "run_ns": 50, "wait_ns": 31}]
    host = {"hostname": "box", "cpu_model": "EPYC", "started_mono_ns": 0, "ended_mono_ns": 100}
    manifest = new_manifest(Trial(command=("sort",)), Host(hostname="guest"), [], [])
    manifest.machine = {"kernel": "6.1", "accelerator": "tcg", "host": {**host, "cpus": cpus}}
    write_manifest(run, manifest)
    for options in ([], ["--all"]):
        done = inside(capsys, "show", str(run), *options)
        assert "virtual machine: emulated, Linux 6.1" in done.stdout
        assert "its host: box, EPYC; the machine waited 31.0 % of its time for a CPU" in done.stdout
    shown = json.loads(inside(capsys, "show", str(run), "--json").stdout)["run"]
    assert shown["machine"]["host"]["hostname"] == "box"
    assert list(shown["machine_facts"]) == ["Virtual machine", "Its host"]


def test_ledger_json_has_both_views_at_the_top(run_dir: Path, capsys: Capture) -> None:
    done = inside(capsys, "ledger", str(run_dir), "--json", "--window", "application")
    shown = json.loads(done.stdout)
    assert shown["window"]["name"] == "application"
    assert shown["slot_view"]["total_ns"] > 0
    assert {"rows", "closure_ratio", "unclassified_ratio"} <= set(shown["slot_view"])
    assert shown["checks"]


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        ("ledger --top 3", "--top is for --by PART: it has no effect without it"),
        ("ledger --task slowest --top 3", "--top is for --by PART: it has no effect without it"),
        ("ledger --by iteration --top 3", "--top is for other parts: it has no effect on iter"),
        ("ledger --json --view slot", "--view is for the screen: it has no effect on --json"),
        ("ledger --json --depth 1", "--depth is for the screen: it has no effect on --json"),
        ("show --json --section gc", "--section is for the screen: it has no effect on --json"),
        ("show --source --section gc", "--section is for the summary: it has no effect on --sou"),
        ("show --source --all", "--all is for the summary: it has no effect on --source"),
    ],
)
def test_options_without_effect_are_refused(
    run_dir: Path, words: str, refused: str, capsys: Capture
) -> None:
    verb, *options = words.split()
    done = inside(capsys, verb, str(run_dir), *options)
    assert (done.code, done.stdout) == (2, "")
    assert refused in " ".join(done.stderr.split())


def test_an_unknown_window_names_those_there_are(run_dir: Path, capsys: Capture) -> None:
    done = inside(capsys, "show", str(run_dir), "--window", "iteration/9")
    assert done.code == 2
    assert "no window 'iteration/9'" in done.stderr
    assert "iteration/1" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_short_window_name_is_an_iteration(run_dir: Path, capsys: Capture) -> None:
    done = inside(capsys, "show", str(run_dir), "--json", "--window", "0")
    assert json.loads(done.stdout)["window"]["name"] == "iteration/0"


def test_nothing_there_is_exit_code_2_and_one_message(tmp_path: Path, capsys: Capture) -> None:
    for verb in ("show", "ledger", "ingest"):
        done = inside(capsys, verb, str(tmp_path / "nowhere"))
        assert done.code == 2
        assert "no such file or directory" in done.stderr
        assert done.stdout == ""


def test_an_empty_event_log_is_refused_and_one_with_a_line_is_shown(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    empty, begun = tmp_path / "local-1", tmp_path / "local-2"
    empty.touch()
    begun.write_text('{"Event":"SparkListenerLogStart","Spark Version":"4.0.0"}\n')
    for verb in ("ingest", "show"):
        done = inside(capsys, verb, str(empty))
        assert done.code == 2
        assert done.stdout == ""
        assert f"{empty}: no event of Spark in it" in done.stderr
        assert "try: Copy it again from spark.eventLog.dir" in done.stderr
    assert not list(tmp_path.glob("cache/**/*.parquet"))
    shown = inside(capsys, "show", str(begun), "--json")
    assert shown.code == 0, shown.stderr
    codes = {one["code"] for one in json.loads(shown.stdout)["doubts"]}
    assert {"eventlog_no_application_start", "eventlog_no_application_end"} <= codes
    # One of several that is empty does not stop the others.
    both = inside(capsys, "ingest", str(empty), str(begun), "-o", str(tmp_path / "both"), "--json")
    assert both.code == 0, both.stderr
    doubts = {one["code"]: one["message"] for one in json.loads(both.stdout)["doubts"]}
    assert doubts["eventlog_empty"] == f"{empty.name}: the event log holds no event"


def test_units_read_as_people_write_them() -> None:
    from pyrometer.core import units

    assert [units.duration(n) for n in (1, 999, 999_600, 59_949_000_000, 3_600_000_000_000)] == [
        "1.00 ns", "999 ns", "1.00 ms", "59.9 s", "1 h 00 min",
    ]  # fmt: skip
    assert units.duration(-1_500_000) == "−1.50 ms"
    assert [units.size(n) for n in (0, 1023, 1048575, 1 << 50)] == [
        "0 B", "1 023 B", "1.00 MiB", "1.00 PiB",
    ]  # fmt: skip
    assert [units.percent(r) for r in (1.0, 0.09994, 0.9999, 1e-7)] == [
        "100 %", "9.99 %", "100 %", "< 0.01 %",
    ]  # fmt: skip


OWN = "$anonfun$withThreadLocalCaptured$1 at CompletableFuture.java:1768"


@pytest.mark.parametrize(
    ("description", "called"),
    [
        ("collect at /jobs/q.py:3", "collect at q.py:3"),
        ("nightly prices", "nightly prices"),
        ("parquet at NativeMethodAccessorImpl.java:0", "parquet"),
    ],
)
def test_a_stage_of_sparks_own_thread_is_called_after_its_query(
    tmp_path: Path, capsys: Capture, description: str, called: str
) -> None:
    world = World([StageSpec([400, 300]), StageSpec([200])])
    world.rows["stages"][0]["name"] = OWN
    world.rows["stages"][1]["name"] = "sum at /jobs/m.py:7"
    world.rows["sql_executions"][0]["description"] = description
    run = str(world.write(tmp_path / "run"))
    for options in ([], ["--section", "stages"]):
        shown = inside(capsys, "show", run, *options).stdout
        assert called in shown
        assert "sum at m.py:7" in shown
        assert "anonfun" not in shown
    found = json.loads(inside(capsys, "show", run, "--json").stdout.splitlines()[-1])
    (first, second) = found["stages"]
    assert first["name"] == OWN
    assert first["called"].endswith(called.removeprefix("collect at "))
    assert second["called"] == second["name"] == "sum at /jobs/m.py:7"
