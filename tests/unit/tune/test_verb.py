"""``pyrometer tune``: mistakes on the command line, and what is planned."""

from __future__ import annotations

import json
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from tests.support.cli import nobody_reads
from tests.support.experiments import NAP
from tests.support.tuning import COLLECTOR, Drawn, Simulated, tuning

from pyrometer.cli.main import run_verb
from pyrometer.collect.host.settings import level_here
from pyrometer.core.errors import UsageError
from pyrometer.tune.carry import search
from pyrometer.tune.judge.report import tuning_report
from pyrometer.tune.place import is_tuning
from pyrometer.tune.trials.folder import SavedSpace, begin, read_tuning
from pyrometer.tune.trials.measured import conditions_of


@pytest.mark.parametrize(
    ("words", "message", "remedy"),
    [
        (["sort-txt"], "did you mean 'sort-text'?", "pyrometer workloads"),
        (["sort-text", "--space", "jwm"], "no space and no file 'jwm'", "did you mean 'jvm'?"),
        (["sort-text", "--budget", "3"], "--budget 3: at least 8 runs", "25"),
        (["sort-text", "--budget", "7"], "6 of which confirm", "--budget 8"),
        (["sort-text", "--budget", "0min"], "must be above zero", "--budget 25"),
        (["sort-text", "--budget", "soon"], "neither a number of runs", "40min"),
        (["sort-text", "--timeout", "soon"], "--timeout soon: a time such as", "--timeout 2h"),
        (["sort-text", "--timeout", "0s"], "--timeout 0s: a time such as", "--timeout 2h"),
        (["sort-text", "--timeout", ""], "a time such as 90s, 20m or 2h", "--timeout 2h"),
        (["sort-text", "--objective", "cost"], "needs prices", "--price FILE"),
        (["sort-text", "--subject-to", "cost < 1"], "'cost < 1' needs prices", "--price FILE"),
        (["sort-text", "--subject-to", "peak_mem < 3g"], "'peak_mem' is not measured", "memory"),
        (["sort-text", "--objective", "p95"], "a trial has 3 times", "--iterations 20"),
        (
            ["sort-text", "--objective", "memory", "--profile", "off", "--dry-run"],
            "--profile off does not measure",
            "--profile light",
        ),
        (
            ["sort-text", "--subject-to", "elapsed < 30q"],
            "--subject-to 'elapsed < 30q': column 11",
            "30s",
        ),
        (["sort-text", "--subject-to", "elapsed < 5m"], "5m is a size", "write 5min"),
        (["sort-text", "--subject-to", "elapsed < 5M"], "5M is a size", "write 5min"),
        (["sort-text", "--subject-to", "cost < 5k"], "'cost < 5k' needs prices", "--price FILE"),
        (["sort-text", "--subject-to", "peak_memory < 3g and p95 < 2g"], "2g is a size", "30s"),
        (["sort-text", "--subject-to", "3 < 4"], "nothing that is measured", "peak_memory"),
        (["sort-text", "--engine", "owl"], "no such engine", "did you mean 'own'?"),
        (["sort-text", "--fidelity", "scales"], "no such stand-in", "did you mean 'scale'?"),
        (["sort-text", "--fidelity", "queries"], "is not a suite of queries", "--fidelity auto"),
        (["online", "sort-text", "--risk", "0"], "--risk 0: a percentage", "--risk 10%"),
        (["online", "sort-text", "--risk", "2%"], "no room for one step", "--over 76"),
        (["online", "python", "x.py"], "give one workload", "tune online -- python x.py"),
        (["step", "/nowhere"], "is not a tuning's folder", "pyrometer tune"),
        (["sort-text", "--from", "/nowhere"], "there is no such run", "pyrometer ls"),
        (["sort-text", "--scale", "tset"], "has no scale 'tset'", "test"),
        (["sort-text", "--set", "jvm.heep=1g"], "unknown factor 'jvm.heep'", "jvm.heap"),
        (["resmue", "x"], "give one workload", "did you mean 'resume'?"),
        (["--scale", "test", "--", "python", "x.py"], "--scale is for workloads", "leave it out"),
        (["--", "x.py", "-o", "{run}/a"], "{run} stands in the command", "docs/how-to/workloads"),
        (["--fidelity", "scale", "--", "x.py"], "--fidelity is for workloads", "leave it out"),
        (["resume", "/nowhere"], "is not a tuning's folder", "pyrometer tune"),
        (["show", "/nowhere"], "is not a tuning's folder", "pyrometer tune"),
    ],
)
def test_a_mistake_is_one_message_and_what_to_do_next(words, message, remedy, capsys):
    assert run_verb(["tune", *words]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert message in told
    assert remedy in told.partition("try:")[2]


def test_prices_that_are_all_zero_are_no_objective(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("prices.toml").write_text('currency = "EUR"\n')
    words = ["sort-text", "--objective", "cost", "--price", "prices.toml", "--dry-run"]
    assert run_verb(["tune", *words]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "--objective cost needs a price above 0" in told


def test_a_dry_run_says_what_would_be_varied_and_leaves_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["tune", "sort-text", "--space", "jvm", "--set", "jvm.heap=1g", "--dry-run", "--json"]
    assert run_verb(words) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    factors = [one["factor"] for one in found["space"]["knobs"]]
    assert COLLECTOR in factors
    # What all trials share is not varied.
    assert "jvm.heap" not in factors
    assert found["space"]["left_out"]["jvm.heap"].startswith("it is the same for all trials")
    assert found["reserved"] == 8.0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ([], 86400.0),
        (["--budget", "40min"], 2400.0),
        (["--budget", "40 minutes"], 2400.0),
        (["--budget", "25 runs"], 86400.0),
        (["--timeout", "4h"], 14400.0),
        (["--timeout", "1.5 hours", "--budget", "40min"], 5400.0),
    ],
)
def test_the_longest_time_of_a_trial(words, seconds, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run_verb(["tune", "sort-text", "--dry-run", "--json", *words]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["timeout_s"] == seconds


def test_a_command_that_is_not_there_is_refused_as_run_does(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run_verb(["tune", "--dry-run", "--", "no-such-cmd", "x"]) == 127
    assert "command not found: no-such-cmd" in capsys.readouterr().err


def test_a_tuning_that_is_there_is_gone_on_with_or_another_goes_elsewhere(tmp_path):
    begin(tmp_path / "t", tuning())
    with pytest.raises(UsageError, match="holds a tuning") as caught:
        begin(tmp_path / "t", tuning())
    assert "tune resume" in (caught.value.remedy or "")
    assert "-o DIR" in (caught.value.remedy or "")


def test_a_condition_may_say_times_with_their_unit(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run_verb(["tune", "sort-text", "--subject-to", "elapsed < 1.5min", "--dry-run"]) == 0
    (found,) = conditions_of(["elapsed < 1.5min or core_seconds <= 500ms"])
    assert [found.holds({"elapsed": one, "core_seconds": 1.0}) for one in (89, 91)] == [True, False]
    assert found.holds({"elapsed": 91, "core_seconds": 0.5})


def test_a_tuning_whose_condition_would_be_refused_today_is_still_read(tmp_path):
    machine = Simulated()
    begin(tmp_path / "t", tuning("12", conditions=["elapsed < 5m"]))
    search(tmp_path / "t", lambda one: Drawn(one.seed), actions=machine.actions())
    assert tuning_report(tmp_path / "t", causes=False).conditions == ["elapsed < 5m"]


def test_a_switch_of_the_kernel_shows_the_level_that_it_has(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pyrometer.tune.start.unsettable", lambda name: None)
    thp = tmp_path / "sys/kernel/mm/transparent_hugepage/enabled"
    thp.parent.mkdir(parents=True)
    thp.write_text("always [madvise] never\n")
    here = partial(level_here, root=tmp_path)
    monkeypatch.setattr("pyrometer.tune.start.level_here", here)
    assert run_verb(["tune", "sort-text", "--space", "os", "--dry-run", "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    levels = {one["factor"]: one["default"] for one in found["space"]["knobs"]}
    assert levels == {"os.thp": "madvise", "os.swappiness": None, "os.lru_gen": None}


def test_what_a_command_decides_itself_is_not_varied(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["--space", "jvm", "--dry-run", "--json"]
    command = ["spark-submit", "--driver-memory", "1g", "a.py"]
    assert run_verb(["tune", *words, "--", *command]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["command"] == command
    assert "1g" in found["space"]["left_out"]["jvm.heap"]


def test_switches_that_this_user_may_not_set_are_left_out_and_named_once(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    why = "this user may not set it (run as root outside of a container)"
    monkeypatch.setattr("pyrometer.tune.start.unsettable", lambda name: why)
    assert run_verb(["tune", "sort-text", "--space", "os+jvm", "--dry-run"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert f"not varied: os.thp, os.swappiness, os.lru_gen: {why}" in told
    assert run_verb(["tune", "sort-text", "--space", "os", "--dry-run"]) == 2
    assert "nothing that can be varied here: os.thp: this user" in capsys.readouterr().err


def test_a_dry_run_names_each_setting_whole_with_levels_as_they_are_typed(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    assert run_verb(["tune", "sort-text", "--scale", "test", "--dry-run"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert "minimise time" in told[0]
    assert "Spark " in told[0]
    assert told[1] == "budget: 25 runs, 17 runs to search and 8 runs to confirm what is found"
    after = dict(pairwise(told))
    hash_join = after["spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold"]
    assert hash_join.startswith("  today: 0b (off); tried: 1m to ")
    assert after["spark.io.compression.codec"] == "  today: lz4; tried: zstd, snappy"
    assert "-1 (never)" in after["spark.sql.autoBroadcastJoinThreshold"]
    assert "spark.locality.wait" in after  # The last one.


def test_a_tuning_is_read_as_it_was_written(tmp_path):
    whole = tuning("40min", conditions=["peak_memory < 3g"])
    begin(tmp_path / "t", whole)
    assert read_tuning(tmp_path / "t") == whole
    space = read_tuning(tmp_path / "t").space
    assert SavedSpace.of(space.read()) == space
    assert is_tuning(tmp_path / "t")
    assert not is_tuning(tmp_path)


def test_a_file_of_the_users_own_is_never_replaced_by_a_commands(tmp_path):
    root = tmp_path / "t"
    root.mkdir()
    (root / "command.yaml").write_text("mine\n")
    for written in ("ours\n", None):
        with pytest.raises(UsageError, match="is not an empty folder"):
            begin(root, tuning(), written)
    assert (root / "command.yaml").read_text() == "mine\n"
    # What a kill before the plan had its name leaves: nothing had begun.
    begin(root, tuning(), "mine\n")
    assert is_tuning(root)


def test_a_command_of_the_user_is_tuned_from_the_command_line(tmp_path, monkeypatch, capsys):
    """Whole, with real processes: nothing that is varied changes how long a nap is."""
    monkeypatch.chdir(tmp_path)
    Path("space.yaml").write_text("{name: mine, knobs: {workload.time: [short, long]}}\n")
    Path("workload.yaml").write_text(NAP)
    words = ["./workload.yaml", "--space", "space.yaml", "--budget", "8", "--profile", "off"]
    assert run_verb(["tune", *words, "--guard", "flag", "-o", "t", "--json"]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out.splitlines()[-1])
    assert found["schema"] == "pyrometer/tuning/1"
    assert found["state"] == "done"
    # The default is not tried again by its name.
    assert [one["configuration"] for one in found["trials"]] == [{}, {"workload.time": "long"}]
    assert all(Path(one["folder"], "manifest.json").is_file() for one in found["trials"])
    assert {one["code"] for one in found["doubts"]} >= {"results_unchecked"}
    assert Path("t/report.html").is_file()
    assert "best so far" in captured.err
    # It is there, and is not begun again.
    assert run_verb(["tune", *words, "-o", "t"]) == 2
    assert "pyrometer tune resume t" in capsys.readouterr().err
    Path("t/report.html").unlink()
    with nobody_reads():
        assert run_verb(["tune", "resume", "t"]) == 0
    assert Path("t/report.html").is_file()
