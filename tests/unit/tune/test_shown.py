"""What is shown of a tuning: in the terminal, in lists, and on its page."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.tuning import Simulated, tuned, tuning

from pyrometer.api import write_report
from pyrometer.cli.main import run_verb
from pyrometer.experiments.run.attempt import Attempt
from pyrometer.tune.judge.page import links, unreported, write_tuning
from pyrometer.tune.judge.report import tuning_report
from pyrometer.tune.online.report import online_report
from pyrometer.tune.online.run import step
from pyrometer.tune.trials.folder import OnlineTerms, begin


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
