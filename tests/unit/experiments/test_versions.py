"""Trials of two versions of Spark or Java are not mixed in one experiment."""

from __future__ import annotations

import pytest
from tests.support import experiments
from tests.support.experiments import Machine, napping

from pyrometer.core.errors import UsageError
from pyrometer.experiments.plan.treatments import Treatment, Treatments
from pyrometer.experiments.run.honoured import honoured
from pyrometer.experiments.run.loop import begin, carry_out
from pyrometer.experiments.run.planned import plan_of
from pyrometer.experiments.run.versions import versions_of


def java(folder, version):
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    (folder / "bin" / "java").write_text("#!/bin/sh\n")
    (folder / "bin" / "java").chmod(0o755)
    (folder / "release").write_text(f'JAVA_VERSION="{version}"\n')
    return folder


def spark(folder, version):
    for name in (
        "bin/spark-submit", f"jars/spark-core_2.13-{version}.jar",
        "python/lib/pyspark.zip", "python/lib/py4j-0.10-src.zip",
    ):  # fmt: skip
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


@pytest.fixture(autouse=True)
def homes(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARK_HOME", str(spark(tmp_path / "spark", "4.0.1")))
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path / "java", "17.0.9")))


def planned(root, *, versions=True):
    plan = experiments.plan(["a", "b"], 1, 1)
    plan.versions = versions_of(plan) if versions else {}
    begin(root, plan)
    return root


def test_a_plan_has_the_versions_that_its_treatments_run_on(tmp_path):
    path = tmp_path / "scan.yaml"
    path.write_text(
        "name: scan\nworkload: parquet-scan\nmatrix: {spark.sql.shuffle.partitions: [1, 2]}\n"
    )
    assert plan_of(path, tmp_path / "out").versions == {"Spark": "4.0.1", "Java": "17.0.9"}
    # What a command starts is not known before.
    assert plan_of(napping(tmp_path), tmp_path / "out").versions == {}
    plan = experiments.plan(["a", "b"], 1, 1)
    home = str(java(tmp_path / "other", "21.0.1"))
    plan.treatments[1].levels = {"jvm.home": home}
    assert versions_of(plan) == {
        "Spark": "4.0.1", "Java": "17.0.9", f"Java (jvm.home={home})": "21.0.1",
    }  # fmt: skip


def test_a_java_below_the_users_home_is_looked_into(tmp_path, monkeypatch):
    java(tmp_path / "other", "21.0.1")
    monkeypatch.setenv("HOME", str(tmp_path))
    levels = {"jvm.home": "~/other"}
    plan = experiments.plan(["a", "b"], 1, 1)
    plan.treatments[1].levels = levels
    assert versions_of(plan)["Java (jvm.home=~/other)"] == "21.0.1"
    one = Treatments({"a": Treatment("a", levels, levels, levels)})
    assert honoured(one, "parquet-scan", tmp_path).left_out == []


def test_another_java_is_not_gone_on_with(tmp_path):
    root = planned(tmp_path / "out")
    java(tmp_path / "java", "21.0.1")
    machine = Machine(1, 2)
    with pytest.raises(UsageError, match=r"with Java 17\.0\.9, which is 21\.0\.1 here now"):
        carry_out(root, actions=machine.actions())
    assert machine.at == -1
    java(tmp_path / "java", "17.0.9")
    assert len(carry_out(root, actions=machine.actions()).ended) == 2


def test_another_spark_is_not_gone_on_with(tmp_path, monkeypatch):
    root = planned(tmp_path / "out")
    monkeypatch.setenv("SPARK_HOME", str(spark(tmp_path / "newer", "4.1.0")))
    with pytest.raises(UsageError, match=r"with Spark 4\.0\.1, which is 4\.1\.0 here now"):
        carry_out(root, actions=Machine(1, 2).actions())


def test_a_plan_without_versions_and_one_that_has_ended_are_gone_on_with(tmp_path):
    old, ended = planned(tmp_path / "old", versions=False), planned(tmp_path / "ended")
    carry_out(ended, actions=Machine(1, 2).actions())
    java(tmp_path / "java", "21.0.1")
    assert len(carry_out(old, actions=Machine(1, 2).actions()).ended) == 2
    assert len(carry_out(ended, actions=Machine(1, 2).actions()).ended) == 2
