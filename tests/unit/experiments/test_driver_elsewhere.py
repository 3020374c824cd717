"""Jobs whose driver runs on the cluster: refused before the first trial, and no time of theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyrometer.cli.main import run_verb
from pyrometer.collect.host.card import this_host
from pyrometer.collect.launch.record import new_manifest
from pyrometer.core.errors import UsageError
from pyrometer.core.schema import doubt
from pyrometer.experiments.history.stored_runs import Wanted, stored_runs
from pyrometer.experiments.run import attempt
from pyrometer.experiments.run.planned import checked
from pyrometer.store.manifest import write_manifest
from pyrometer.trial.trial import Trial

JOB = """\
name: job
summary: A job.
command: [spark-submit, "{manager}", app.py]
variants:
  manager:
    doc: Who gives executors.
    default: client
    levels:
      client: {doc: The driver is here., argv: [--master, yarn]}
      option: {doc: It is there., argv: [--master, yarn, --deploy-mode, cluster]}
      conf: {doc: It is there., conf: {spark.submit.deployMode: cluster}}
      file: {doc: It is there., env: {SPARK_CONF_DIR: "{folder}"}}
"""
EXPERIMENT = "name: e\nworkload: ./job.yaml\nmatrix: {matrix}\nblocks: 2\n"
CLUSTER = "spark.submit.deployMode=cluster"


def planned(folder: Path, matrix: str) -> Path:
    (folder / "job.yaml").write_text(JOB)
    (folder / "spark-defaults.conf").write_text("spark.submit.deployMode  cluster\n")
    path = folder / "e.yaml"
    path.write_text(EXPERIMENT.format(matrix=matrix))
    return path


@pytest.mark.parametrize(
    ("matrix", "why", "remedy"),
    [
        ("{cpu.quota: [1, 2]}", "cpu.quota: executors run elsewhere (master yarn)", "leave it out"),
        ("{manager: [client], cgroup.cpu_weight: [50, 100]}",
         "cgroup.cpu_weight: executors run elsewhere", "leave it out"),
        ("{layout.tasks: [1, 2]}", "layout.tasks: executors run elsewhere", "leave it out"),
        ("{spark.master: [yarn, 'spark://m1:7077']}",
         "spark.master=spark://m1:7077: the command itself names the master yarn",
         "make masters levels of a variant"),
    ],
)  # fmt: skip
def test_a_level_that_reaches_no_executor_is_refused(
    tmp_path: Path, matrix: str, why: str, remedy: str
) -> None:
    with pytest.raises(UsageError) as caught:
        checked(planned(tmp_path, matrix))
    assert caught.value.message.startswith(f"{tmp_path}/e.yaml:3:1: ")
    assert why in caught.value.message
    assert remedy in (caught.value.remedy or "")


def test_levels_that_reach_executors_are_planned(tmp_path: Path) -> None:
    _, found = checked(planned(tmp_path, "{spark.executor.cores: [1, 2], spark.master: [yarn]}"))
    assert len(found.run) == 2


@pytest.mark.parametrize(
    "matrix",
    [
        "{manager: [client, option]}",
        "{manager: [client, conf]}",
        "{manager: [client, file]}",
        "{spark.submit.deployMode: [client, cluster]}",
    ],
)
def test_a_treatment_in_cluster_mode_is_refused(tmp_path: Path, matrix: str) -> None:
    with pytest.raises(UsageError, match="the driver runs on another machine: how long") as caught:
        checked(planned(tmp_path, matrix))
    assert caught.value.message.startswith(f"{tmp_path}/e.yaml:2:1: ")
    assert "--deploy-mode client" in (caught.value.remedy or "")


def test_a_treatment_in_client_mode_is_none_of_them(tmp_path: Path) -> None:
    _, found = checked(planned(tmp_path, "{manager: [client], spark.executor.cores: [1, 2]}"))
    assert len(found.run) == 2


@pytest.mark.parametrize(
    "words",
    [
        ["--", "spark-submit", "--deploy-mode", "cluster", "app.jar"],
        ["--set", CLUSTER, "--", "spark-submit", "app.jar"],
        ["{folder}/job.yaml", "--set", "workload.manager=option"],
    ],
)
def test_a_job_in_cluster_mode_is_not_tuned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    planned(tmp_path, "{manager: [client]}")
    words = [one.replace("{folder}", str(tmp_path)) for one in words]
    assert run_verb(["tune", "-o", str(tmp_path / "tuned"), *words]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "how long the command takes says nothing of its application" in said
    assert not (tmp_path / "tuned").exists()


def test_a_run_whose_driver_was_elsewhere_has_no_time_that_counts(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "one"
    manifest = new_manifest(Trial(command=("spark-submit", "app.jar")), this_host(), [], [])
    manifest.state, manifest.exit.code = "finished", 0
    manifest.started_mono_ns, manifest.ended_mono_ns = 10**9, 3 * 10**9
    (run / "raw").mkdir(parents=True)
    write_manifest(run, manifest)
    assert attempt.read(run).seconds == 2.0
    assert len(stored_runs([run.parent], Wanted()).runs) == 1
    manifest.doubts = [doubt("driver_unreachable", "Nothing of the driver.")]
    write_manifest(run, manifest)
    made = attempt.read(run)
    assert (made.status, made.seconds) == ("failed", None)
    assert "its driver ran on another machine" in (made.reason or "")
    found = stored_runs([run.parent], Wanted())
    assert found.runs == []
    assert "its driver ran" in found.unread[str(run)]
