"""Earlier trials that are of the same job: of a file, a command, an experiment, a tuning."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.tuning import COLLECTOR, Drawn, Simulated, tuned, tuning

from pyrometer.cli.main import run_verb
from pyrometer.core.errors import UsageError
from pyrometer.core.redaction import Redactor
from pyrometer.experiments.run.loop import begin as start_experiment
from pyrometer.experiments.run.loop import carry_out
from pyrometer.tune.carry import search
from pyrometer.tune.confirm.plan import plan_of
from pyrometer.tune.known import known_from
from pyrometer.tune.trials.folder import begin


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
