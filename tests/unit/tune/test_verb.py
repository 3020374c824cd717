"""``pyrometer tune``: mistakes on the command line, what is planned, shown, applied; the page."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from tests.support.cli import nobody_reads
from tests.support.experiments import NAP
from tests.support.tuning import COLLECTOR, PARTITIONS, Drawn, Simulated, tuning

from pyrometer.api import write_report
from pyrometer.cli.main import run_verb
from pyrometer.collect.host.settings import level_here
from pyrometer.core.errors import UsageError
from pyrometer.core.redaction import Redactor
from pyrometer.experiments.run.attempt import Attempt
from pyrometer.experiments.run.loop import begin as start_experiment
from pyrometer.experiments.run.loop import carry_out
from pyrometer.tune.advise.adviser import Suggestion
from pyrometer.tune.carry import confirm_winner, search
from pyrometer.tune.confirm.plan import plan_of
from pyrometer.tune.judge.applied import (
    Deployed,
    deployed,
    difference,
    merged,
    overruled,
    to_type,
)
from pyrometer.tune.judge.page import links, unreported, write_tuning
from pyrometer.tune.judge.report import tuning_report
from pyrometer.tune.known import known_from
from pyrometer.tune.online.report import online_report
from pyrometer.tune.online.run import step
from pyrometer.tune.place import is_tuning
from pyrometer.tune.space.space import Knob, Space
from pyrometer.tune.trials.folder import OnlineTerms, SavedSpace, begin, read_tuning
from pyrometer.tune.trials.measured import conditions_of


def tuned(root: Path, budget: str = "20", **machine) -> Path:
    begin(root, tuning(budget))
    made = Simulated(**machine)
    search(root, lambda one: Drawn(one.seed), actions=made.actions())
    confirm_winner(root, actions=made.actions())
    return root


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


def test_show_and_the_page_have_the_verdict_and_every_trial(tmp_path, capsys):
    root = tuned(tmp_path / "t")
    assert run_verb(["tune", "show", str(root), "--json"]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out.splitlines()[-1])
    assert found["confirmation"]["verdict"]["outcome"] == "confirmed"
    assert found["told"] in captured.err
    assert found["why"]["reason"] == "no run of each has finished"
    page = write_report(root)
    text = page.read_text()
    assert page == root / "report.html"
    assert found["told"] in text
    assert all(f'"trial":{one["trial"]}' in text.replace(": ", ":") for one in found["trials"])
    assert run_verb(["report", str(root), "-o", str(tmp_path / "p.html")]) == 0


def test_the_page_leads_to_the_run_of_each_trial_of_the_confirmation(tmp_path):
    report = tuning_report(tuned(tmp_path / "t"), causes=False)
    places = [Path(one) for pair in report.confirmation.runs for one in pair]
    assert len(places) == 2 * report.confirmation.verdict.change.n
    assert ["baseline" in one.name for one in places] == [True, False] * (len(places) // 2)
    for one in places:
        one.mkdir(parents=True, exist_ok=True)
        (one / "manifest.json").write_text("{}")
    assert set(places) <= set(unreported(report))
    for one in places:
        (one / "report.html").write_text("")
    assert links(report, tmp_path / "t").keys() == set(map(str, places))


def test_ls_has_tunings_and_how_far_they_are(tmp_path, capsys):
    tuned(tmp_path / "whole")
    begin(tmp_path / "begun", tuning())
    assert run_verb(["ls", str(tmp_path), "--json"]) == 0
    captured = capsys.readouterr()
    entries = json.loads(captured.out.splitlines()[-1])["entries"]
    found = {Path(one["path"]).name: one for one in entries}
    assert {one["kind"] for one in entries} == {"tuning"}
    assert (found["whole"]["state"], found["begun"]["state"]) == ("finished", "unfinished")
    # A budget of 20 runs, all of which ended.
    assert (found["whole"]["done_count"], found["whole"]["trials_count"]) == (20, 20)
    assert (found["begun"]["done_count"], found["begun"]["elapsed_ns"]) == (0, None)
    assert "pyrometer tune show" in captured.err


def test_ls_says_of_a_recurring_job_how_its_last_run_went(tmp_path, capsys):
    terms = OnlineTerms(risk=0.2, runs=30, limit=1.5, first=5, control=8)
    root = tmp_path / "nightly"
    begin(root, tuning("30", online=terms, canaries="none"))

    def entry() -> tuple[dict, str]:
        assert run_verb(["ls", str(tmp_path), "--json"]) == 0
        captured = capsys.readouterr()
        (found,) = json.loads(captured.out.splitlines()[-1])["entries"]
        return found, " ".join(captured.err.split())

    found, shown = entry()
    assert (found["state"], found["last_wall_ns"], found["done_count"]) == ("recurring", None, 0)
    assert "no run yet" in shown
    broken = []
    machine = Simulated(
        lambda levels, count: Attempt("failed", reason="no input") if broken else None
    )
    for _ in range(40):
        step(root, actions=machine.actions())
    found, shown = entry()
    assert (found["state"], found["last_failed"], found["done_count"]) == ("recurring", None, 40)
    assert found["treatment"] == online_report(root).incumbent != {}
    assert "recurring, 40 runs" in shown
    assert "last: 20" in shown
    broken.append(True)
    step(root, actions=machine.actions())
    found, shown = entry()
    assert found["done_count"] == 40
    assert "no input" in found["last_failed"]
    assert "last failed: 20" in shown


def test_the_page_of_a_recurring_job_has_its_nights_and_what_was_decided(tmp_path, capsys):
    terms = OnlineTerms(risk=0.2, runs=30, limit=1.5, first=5, control=8)
    root = tmp_path / "nightly"
    begin(root, tuning("30", online=terms, canaries="none"))

    def behaviour(levels, count):
        return Attempt("failed", reason="exit code 9") if count == 8 else None

    machine = Simulated(behaviour)
    assert run_verb(["report", str(root)]) == 0
    for _ in range(30):
        step(root, actions=machine.actions())
    assert run_verb(["report", str(root), "--json"]) == 0
    page = Path(json.loads(capsys.readouterr().out.splitlines()[-1])["report"])
    assert page == root / "report.html"
    assert write_report(root, tmp_path / "other.html").is_file()
    found = online_report(root)
    assert "pyrometer/tuning-online-page/1" in page.read_text()
    # A step that was made good is two runs of one night.
    assert [one.night for one in found.runs[7:11]] == [8, 9, 9, 10]
    assert max(one.night for one in found.runs) == 30
    failed = found.runs[8]
    assert (failed.role, failed.value, failed.failed) == ("step", None, "failed: exit code 9")
    (barred,) = [one for one in found.decisions if one.trial == failed.trial]
    assert (barred.what, barred.night) == ("barred", 9)
    # Bands are of what is known by then: of the incumbent only while there is one.
    adopted = next(one for one in found.decisions if one.what == "adopted")
    assert all(one.as_it_is.low < one.as_it_is.value < one.as_it_is.high for one in found.runs)
    assert [one.with_incumbent is None for one in found.runs[: adopted.trial]] == [True] * (
        adopted.trial - 1
    ) + [False]
    assert found.runs[-1].lost_runs == found.lost_runs
    assert found.runs[-1].allowed_runs == found.allowed_runs
    assert run_verb(["report", str(root), "--runs"]) == 0


def test_a_tuning_that_has_just_begun_can_be_shown(tmp_path):
    begin(tmp_path / "t", tuning())
    report = tuning_report(tmp_path / "t")
    assert (report.state, report.told) == ("searching", "No trial has finished.")
    assert write_tuning(tmp_path / "t").is_file()


def test_apply_writes_nothing_unless_it_is_told_where(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    tuned(Path("t"))
    before = sorted(str(one) for one in tmp_path.rglob("*"))
    assert run_verb(["tune", "apply", "t"]) == 0
    printed = capsys.readouterr().out
    assert f"{PARTITIONS}" in printed
    assert "--conf" in printed
    assert sorted(str(one) for one in tmp_path.rglob("*")) == before
    Path("d.conf").write_text(f"# mine\n{PARTITIONS} 999\nspark.eventLog.enabled true\n")
    assert run_verb(["tune", "apply", "t", "-o", "d.conf"]) == 0
    text = Path("d.conf").read_text()
    assert "999" not in text
    assert text.startswith("# mine\n")
    assert "spark.eventLog.enabled true\n" in text
    assert f"-{PARTITIONS} 999" in capsys.readouterr().out


def test_apply_writes_its_file_also_where_nobody_reads_what_it_prints(tmp_path):
    root, conf = tuned(tmp_path / "t"), tmp_path / "d.conf"
    with nobody_reads():
        assert run_verb(["tune", "apply", str(root), "-o", str(conf)]) == 0
    assert PARTITIONS in conf.read_text()


def test_apply_shows_no_secret_and_keeps_owner_rights_and_links_of_a_file(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    secret = "spark.hadoop.fs.s3a.secret.key"
    begin(Path("t"), tuning("20", shared={secret: "plum1"}))
    made = Simulated()
    search(Path("t"), lambda one: Drawn(one.seed), actions=made.actions())
    confirm_winner(Path("t"), actions=made.actions())
    conf = Path("real.conf")
    conf.write_text(f"{secret}   plum2\n{PARTITIONS} 999\nspark.my.password=plum3\n")
    conf.chmod(0o600)
    Path("d.conf").symlink_to(conf)
    capsys.readouterr()
    assert run_verb(["tune", "apply", "t", "-o", "d.conf", "--json"]) == 0
    assert run_verb(["tune", "show", "t"]) == 0
    said = capsys.readouterr()
    printed = said.out + said.err
    assert f"-{PARTITIONS} 999" in printed
    assert secret in printed
    assert "plum" not in printed
    assert "plum2\n" in conf.read_text()
    assert "999" not in conf.read_text()
    assert conf.stat().st_mode & 0o777 == 0o600
    assert Path("d.conf").is_symlink()


def test_apply_says_the_jobs_own_command_with_its_options_changed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    options = "spark.driver.extraJavaOptions"
    job = ["spark-submit", "--conf", f"{PARTITIONS}=400", "--conf", f"{options}=-Da=1", "j.py", "x"]
    Path("job.yaml").write_text(json.dumps({"name": "job", "summary": "s.", "command": job}))
    begin(Path("t"), tuning("20", workload=str(tmp_path / "job.yaml"), scale="default"))
    made = Simulated()
    search(Path("t"), lambda one: Drawn(one.seed), actions=made.actions())
    confirm_winner(Path("t"), actions=made.actions())
    capsys.readouterr()
    assert run_verb(["tune", "apply", "t", "-o", "new.conf", "--json"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    best = found["configuration"][PARTITIONS]
    assert found["command"].startswith("spark-submit --conf ")
    assert f"--conf {PARTITIONS}={best} " in found["command"]
    assert "=400" not in found["command"]
    assert found["command"].endswith(" j.py x")
    loses = f"the command itself says {PARTITIONS}=400, which wins over spark-defaults.conf"
    assert loses in found["warnings"]
    assert f"warning: {loses}" in said.err
    # A new file is compared with none.
    assert found["diff"].startswith("--- /dev/null\n")
    assert "-Da=1 -XX:+UseParallelGC" in Path("new.conf").read_text()
    assert "--driver-java-options '-Da=1 -XX:+UseParallelGC'" in found["command"]


def applied(folder, capsys, best, **text):
    """Give what ``tune apply`` says of a job of one's own after `best` has won."""
    (folder / "job.yaml").write_text(json.dumps({"name": "job", "summary": "s.", **text}))
    workload, root = str(folder / "job.yaml"), folder / "t"
    knobs = [Knob(one, "choice", levels=(level,)) for one, level in best.items()]
    space = SavedSpace.of(Space("mine", tuple(knobs)))
    begin(root, tuning("20", workload=workload, scale="default", space=space))

    class Found(Drawn):
        def ask(self):
            self._asked += 1
            return Suggestion({} if self._asked == 1 else best, block=1)

    made = Simulated(seconds=lambda levels: 9.0 - 4 * (best.items() <= levels.items()))
    search(root, lambda one: Found(one.seed), actions=made.actions())
    confirm_winner(root, actions=made.actions())
    capsys.readouterr()
    assert run_verb(["tune", "apply", str(root), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_apply_gives_the_command_of_the_level_that_won(tmp_path, monkeypatch, capsys):
    options = "spark.driver.extraJavaOptions"
    levels = {
        one: {"doc": "d.", "argv": ["--mode", one], "conf": {options: f"-Dmode={one}"}}
        for one in ("slow", "fast")
    }
    mode = {"doc": "d.", "default": "slow", "levels": levels}
    command = ["spark-submit", "j.py", "{mode}"]
    best = {"workload.mode": "fast", COLLECTOR: "parallel", PARTITIONS: "8"}
    # The job as it is ran the other command.
    monkeypatch.setattr("pyrometer.tune.known.held_as_it_is", lambda root: {PARTITIONS: "9"})
    found = applied(tmp_path, capsys, best, command=command, variants={"mode": mode})
    assert found["settings"][options] == "-Dmode=fast -XX:+UseParallelGC"
    assert "--driver-java-options '-Dmode=fast -XX:+UseParallelGC'" in found["command"]
    assert found["command"].endswith(" j.py --mode fast")
    assert not [one for one in found["warnings"] if "the program itself" in one]


def test_apply_leaves_executors_the_memory_that_the_job_asks_for(tmp_path, capsys):
    command = ["spark-submit", "--executor-memory", "4g", "j.py"]
    best = {"layout.executors": "2", "layout.cores_per_executor": "2"}
    found = applied(tmp_path, capsys, best, command=command)
    assert found["executors"] == "2 × 2 cores × 4096m"
    assert "--executor-memory 4g" in found["command"]


def test_what_a_program_sets_itself_is_named_as_no_file_changes_it():
    held = {PARTITIONS: "9", "spark.a": "1", "spark.driver.extraJavaOptions": "-agentpath:x"}
    ours = {PARTITIONS: "8", "spark.a": "2", "spark.driver.extraJavaOptions": "-XX:+UseZGC"}
    found = overruled(ours, {}, {"spark.a": "1"}, held)
    assert [one.partition(",")[0] for one in found] == [f"the program itself sets {PARTITIONS}=9"]
    # What a command says in the unit that Spark takes for a number alone, no program sets.
    memory = "spark.driver.memory"
    assert overruled({memory: "4g"}, {}, {memory: "2048"}, {memory: "2048m"}) == []
    assert overruled({memory: "2048m"}, {memory: "2048"}, {}, {}) == []


def test_what_pyspark_starts_with_wins_over_a_file(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--conf {PARTITIONS}=400 pyspark-shell")
    found = applied(tmp_path, capsys, {PARTITIONS: "8"}, command=["python", "j.py"])
    loses = f"the command itself says {PARTITIONS}=400, which wins over spark-defaults.conf"
    assert found["warnings"] == [loses]


def test_executors_are_said_to_a_manager_and_never_by_the_master_that_is_for_tests():
    layout = {"layout.executors": "2", "layout.cores_per_executor": "1"}
    found = deployed({**layout, "jvm.heap": "2g"})
    assert "local-cluster" not in found.conf + found.options
    assert found.settings["spark.executor.instances"] == "2"
    assert found.executors == "2 × 1 core × 2048m"
    # What the job asks for itself holds, as it did in the trials.
    asks = deployed(layout, said={"spark.executor.memory": "4g"})
    assert "spark.executor.memory" not in asks.settings
    assert (asks.executors, deployed(layout).executors) == (
        "2 × 1 core × 4096m", "2 × 1 core × 1024m",
    )  # fmt: skip
    line = to_type(["spark-submit", "--master", "local[2]", "a.py"], found, found)
    assert "--master MASTER a.py" in line
    assert "local" not in line


@pytest.mark.parametrize(
    ("words", "pyspark", "line"),
    [
        (["python", "a.py"], "--conf spark.b=1 --conf spark.a=1 pyspark-shell",
         "PYSPARK_SUBMIT_ARGS='--conf spark.b=1 --conf spark.a=2 pyspark-shell' python a.py"),
        (["java", "-Dspark.a=1", "-Dspark.ab=3", "Main"], None,
         "java -Dspark.a=2 -Dspark.ab=3 Main"),
        (["spark-sql", "-f", "q.sql", "--conf=spark.a=1", "--name", "x"], None,
         "spark-sql -f q.sql --name x --conf spark.a=2"),
        (["spark-submit", "--packages", "", "a.py"], None,
         "spark-submit --packages '' --conf spark.a=2 a.py"),
        (["./job.sh"], None, None),
    ],
)  # fmt: skip
def test_each_kind_of_command_is_changed_where_it_says_settings(words, pyspark, line):
    ours = Deployed({"spark.a": "2"})
    assert to_type(words, ours, ours, pyspark) == line


def test_what_was_not_confirmed_is_not_applied_unless_asked_for(tmp_path, capsys):
    root = tuned(tmp_path / "t", budget="12", noise=0.5)
    report = tuning_report(root, causes=False)
    assert report.confirmation.verdict.outcome != "confirmed"
    assert run_verb(["tune", "apply", str(root)]) == 1
    captured = capsys.readouterr()
    assert "not applied" in captured.err
    assert captured.out == ""
    assert run_verb(["tune", "apply", str(root), "--unconfirmed"]) == 0


def test_what_would_confirm_a_winner_is_a_command_that_does_something(tmp_path, capsys):
    root, machine = tmp_path / "t", Simulated(noise=0.5)
    begin(root, tuning("12"))

    def said() -> str:
        assert run_verb(["tune", "apply", str(root)]) == 1
        return " ".join(capsys.readouterr().err.split())

    search(root, lambda one: Drawn(one.seed), actions=machine.actions())
    assert f"Confirm it: pyrometer tune resume {root} --blocks 3; or --unconfirmed" in said()
    confirm_winner(root, actions=machine.actions())
    more = tuning_report(root, causes=False).confirmation.verdict.more_blocks or 3
    # All that was planned has run: without more blocks nothing would.
    assert f"pyrometer tune resume {root} --blocks {more}" in said()
    assert run_verb(["tune", "show", str(root)]) == 0
    assert f"next: pyrometer tune resume {root} --blocks {more}" in capsys.readouterr().out
    broken = Simulated(
        lambda levels, count: Attempt("failed", reason="exit code 1") if levels else None
    )
    confirm_winner(root, actions=broken.actions(), blocks=1)
    assert "More trials would not confirm it: tune again; or --unconfirmed" in said()


def test_a_configuration_is_deployed_as_settings_and_what_is_none_is_named():
    found = deployed(
        {PARTITIONS: "8", "jvm.heap": "2g", "os.swappiness": "1", "data.codec": "zstd"},
        {"data.codec": ["none", "zstd"]},
    )
    assert found.settings[PARTITIONS] == "8"
    assert found.settings["spark.driver.memory"] == "2048m"
    assert found.otherwise == {"os.swappiness": "1", "data.codec": "zstd"}


def test_options_of_a_jvm_are_added_to_those_that_are_there():
    name = "spark.driver.extraJavaOptions"
    before = f"{name}  -Dmine=1\n"
    after = merged(before, {name: "-XX:+UseParallelGC"})
    assert after == f"{name}  -Dmine=1 -XX:+UseParallelGC\n"
    # Once is enough.
    assert merged(after, {name: "-XX:+UseParallelGC"}) == after
    assert f"+{name}  -Dmine=1 -XX:+UseParallelGC" in difference(before, after)


def test_of_a_setting_that_is_said_twice_the_last_holds():
    name = "spark.driver.extraJavaOptions"
    after = merged(f"{name}  -Da=1\n{name}  -Db=2\n", {name: "-Dc=3"})
    assert after == f"{name}  -Db=2 -Dc=3\n"


def test_a_setting_that_goes_on_in_further_lines_is_replaced_whole():
    options = "spark.driver.extraJavaOptions"
    theirs = f"{options} -Da=1 \\\n  -Db=2\n{PARTITIONS} \\\n  9\\\n  9\n"
    kept = "# ours \\\nspark.x a,\\\n  b\n"
    after = merged(theirs + kept, {options: "-Dc=3", PARTITIONS: "8"})
    assert after == f"{options}  -Da=1 -Db=2 -Dc=3\n{PARTITIONS}  8\n{kept}"
    # A last line that would go on does not go on with ours.
    assert merged("spark.x a\\", {PARTITIONS: "8"}) == f"spark.x a\\\n\n{PARTITIONS}  8\n"
    secret = "spark.my.password \\\n  plum\n"
    assert "plum" not in difference(secret, merged(secret, {PARTITIONS: "8"}))


@pytest.mark.parametrize(
    ("theirs", "ours", "both"),
    [
        ("-XX:+UseG1GC -Dmine=1", "-XX:+UseParallelGC", "-Dmine=1 -XX:+UseParallelGC"),
        ("-XX:ParallelGCThreads=16", "-XX:ParallelGCThreads=1", "-XX:ParallelGCThreads=1"),
        ("-XX:-UseStringDeduplication", "-XX:+UseStringDeduplication",
         "-XX:+UseStringDeduplication"),
        ("-Xmn1g -Xss4m", "-Xmn512m", "-Xss4m -Xmn512m"),
        ('-Da="b c" --add-opens x=y', "-XX:+UseZGC", '-Da="b c" --add-opens x=y -XX:+UseZGC'),
        ("-XX:OnError=a -Db=1", "-XX:OnError=b", "-XX:OnError=a -Db=1 -XX:OnError=b"),
    ],
)  # fmt: skip
def test_an_option_replaces_what_says_otherwise_and_no_jvm_gets_two_collectors(theirs, ours, both):
    name = "spark.executor.extraJavaOptions"
    after = merged(f"{name}  {theirs}\n", {name: ours})
    assert after == f"{name}  {both}\n"
    assert merged(after, {name: ours}) == after


def test_a_workload_of_a_file_is_the_same_job_by_any_path(tmp_path, monkeypatch, capsys):
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    Path("q.sql").write_text("SELECT 1;\n")
    begin(Path("t"), tuning("20", workload=str(tmp_path / "below" / "q.sql")))
    found = search(Path("t"), lambda one: Drawn(one.seed), actions=Simulated().actions())
    words = ["--space", "spark-sql+jvm", "--scale", "test", "--from", "t", "--dry-run", "--json"]
    for path in ("q.sql", "./q.sql", "../below/q.sql"):
        assert run_verb(["tune", path, *words]) == 0
        earlier = json.loads(capsys.readouterr().out.splitlines()[-1])["earlier"]
        assert len(earlier) == len(found.steps)
    Path("other.sql").write_text("SELECT 1;\n")
    assert run_verb(["tune", "other.sql", *words]) == 2


def test_a_command_is_the_same_job_by_its_words_though_secrets_are_struck(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    command = ["spark-submit", "--conf", "spark.my.password=plum", "a.py"]
    struck = Redactor.of(command).words(command)
    assert "plum" not in " ".join(struck)
    begin(Path("t"), tuning("20", command=struck, folder=str(tmp_path), scale="default"))
    found = search(Path("t"), lambda one: Drawn(one.seed), actions=Simulated().actions())
    words = ["--space", "spark-sql+jvm", "--from", "t", "--dry-run", "--json", "--"]
    assert run_verb(["tune", *words, *command]) == 0
    earlier = json.loads(capsys.readouterr().out.splitlines()[-1])["earlier"]
    assert len(earlier) == len(found.steps)
    assert run_verb(["tune", *words, *command, "more"]) == 2


def test_trials_of_an_experiment_with_a_command_are_of_that_command(tmp_path):
    file, words = tmp_path / "workload.yaml", "python app.py --to {run}/out"
    file.write_text(f"name: job\nsummary: Mine.\ncommand: {words.split()}\n")
    plan = plan_of(tuning(workload=str(file)), {COLLECTOR: "parallel"}, 2, 0, "default")
    start_experiment(tmp_path / "e", plan)
    carry_out(tmp_path / "e", actions=Simulated().actions().trials)
    _, earlier = known_from(tmp_path / "e", words, "default", {})
    assert [one.configuration for one in earlier].count({COLLECTOR: "parallel"}) == 2
    with pytest.raises(UsageError, match="it ran"):
        known_from(tmp_path / "e", f"{words} more", "default", {})


def test_trials_of_another_tuning_of_the_same_job_are_known(tmp_path):
    root = tuned(tmp_path / "t")
    priors, earlier = known_from(root, "parquet-scan", "test", {})
    assert priors == []
    assert earlier[0].configuration == {}
    assert all(one.value > 1e9 for one in earlier)
    from pyrometer.core.errors import UsageError

    with pytest.raises(UsageError, match="not tpch at scale test"):
        known_from(root, "tpch", "test", {})
