"""Spark settings of a job before any run: what its command says, its level, and all trials."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support import cli

from pyrometer.collect.launch.settings_before import settings_of_levels, settings_of_workload

CORES, MEMORY = "spark.executor.cores", "spark.executor.memory"


@pytest.fixture(autouse=True)
def nothing_else_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SPARK_CONF_DIR", "SPARK_HOME", "MASTER", "PYSPARK_SUBMIT_ARGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "")


def job(folder: Path, data: str = "") -> str:
    path = folder / "job.yaml"
    path.write_text(
        "name: job\nsummary: A job.\ncommand: [spark-submit, --master, yarn, '{size}', app.py]\n"
        "variants:\n  size:\n    doc: Of executors.\n    default: small\n    levels:\n"
        "      small: {doc: Small., argv: [--executor-cores, '2']}\n"
        "      large: {doc: Large., conf: {spark.executor.memory: 8g}}\n" + data
    )
    return str(path)


def held(workload: str, levels: dict[str, str]) -> dict[str, str]:
    own = {"workload.size": ["small", "large"]}
    settings = settings_of_workload(workload, levels, "default")
    return {**settings, **settings_of_levels(levels, own, settings)}


def test_settings_are_those_of_the_command_its_level_and_all_trials(tmp_path: Path) -> None:
    path = job(tmp_path)
    small = held(path, {MEMORY: "4g"})
    assert (small["spark.master"], small[CORES], small[MEMORY]) == ("yarn", "2", "4g")
    large = held(path, {"workload.size": "large"})
    assert large[MEMORY] == "8g"
    assert CORES not in large
    assert "workload.size" not in large


def test_a_level_wins_over_the_commands_own_words(tmp_path: Path) -> None:
    assert held(job(tmp_path), {CORES: "4"})[CORES] == "4"


def test_a_layout_has_room_for_the_executors_of_the_job(tmp_path: Path) -> None:
    layout = {"layout.executors": "2", "layout.tasks": "4", "workload.size": "large"}
    assert held(job(tmp_path), layout)["spark.master"] == "local-cluster[2,2,8192]"
    small = {**layout, MEMORY: "3g"}
    assert held(job(tmp_path), small)["spark.master"] == "local-cluster[2,2,3072]"


def test_while_data_are_missing_only_levels_are_known(tmp_path: Path) -> None:
    path = job(tmp_path, "data:\n  in: {path: none/here}\n")
    assert held(path, {CORES: "4"}) == {CORES: "4"}


def test_a_curve_over_executors_asks_the_manager_that_the_command_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    words = ["scale", job(tmp_path), "--over", "spark.executor.instances"]
    done = cli.inside(capsys, *words, "-o", str(tmp_path / "curve"))
    assert done.code == 2
    assert "HADOOP_CONF_DIR" in done.stderr
    assert "--levels" in done.stderr
