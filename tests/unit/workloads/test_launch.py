from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.support.toy_workload import Toy

from pyrometer.collect.launch.launch import launch_workload
from pyrometer.collect.probes.base import Needs
from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.store.paths import RunPaths
from pyrometer.trial.trial import Trial
from pyrometer.workloads import launch, registry
from pyrometer.workloads.data_cache import DataCache
from pyrometer.workloads.launch import AUTO_WARMUP, launch_spec
from pyrometer.workloads.spark import find_spark, import_folder
from pyrometer.workloads.values import no_progress


def fake_home(path, python_api=True):
    (path / "bin").mkdir(parents=True)
    (path / "bin" / "spark-submit").write_text("")
    (path / "jars").mkdir()
    if python_api:
        (path / "python" / "lib").mkdir(parents=True)
        (path / "python" / "lib" / "pyspark.zip").write_text("")
        (path / "python" / "lib" / "py4j-0.10.9.7-src.zip").write_text("")
    return path


@pytest.fixture
def raw(tmp_path):
    (tmp_path / "raw").mkdir()
    return tmp_path / "raw"


def spec(raw, tmp_path, **more):
    options = {"scale": "50", "raw_dir": raw, "data_cache": DataCache(tmp_path / "cache"), **more}
    return launch_spec("interval-join", **options)


def test_specification_holds_all_that_the_runner_needs(raw, tmp_path):
    home = fake_home(tmp_path / "spark")
    made = spec(
        raw,
        tmp_path,
        levels={"variant": "timestamp"},
        iterations=2,
        spark_home=home,
        spark_conf={"spark.driver.memory": "3g"},
    )
    written = json.loads((raw / "workload.json").read_text())
    assert made.argv[1:] == ("-m", "pyrometer.workloads.runner", str(raw / "workload.json"))
    assert (written["iterations"], written["warmup"]) == (2, AUTO_WARMUP)
    assert written["spec"]["levels"] == {"workload.variant": "timestamp"}
    assert written["spark_conf"] == dict(made.spark_conf)
    # The user's value, the workload's, and the default.
    assert made.spark_conf["spark.driver.memory"] == "3g"
    assert made.spark_conf["spark.sql.files.maxPartitionBytes"] == "4m"
    assert made.spark_conf["spark.master"] == "local[*]"
    assert made.prepared.facts["events"] == 50
    path = made.env["PYTHONPATH"].split(os.pathsep)
    assert path[0] == str(home / "python" / "lib" / "pyspark.zip")
    assert path[1].endswith("py4j-0.10.9.7-src.zip")
    assert made.env["SPARK_HOME"] == str(home)


@pytest.mark.parametrize("wrong", [{"iterations": 0}, {"warmup": -1}])
def test_senseless_numbers_of_iterations_are_refused(raw, tmp_path, wrong):
    with pytest.raises(UsageError):
        spec(raw, tmp_path, **wrong)
    assert list(raw.iterdir()) == []


def test_treatments_that_take_turns_may_be_parameters_of_a_file(raw, tmp_path):
    """Of a file, name and parameters are known by its path alone; without theirs it has no data."""
    file = tmp_path / "q.sql"
    file.write_text("SELECT count(*) FROM range(:n)")
    turns = [({"sql.n": "10"}, (0, 2)), ({"sql.n": "20", "spark.sql.ansi.enabled": "true"}, (1, 3))]
    launch_spec(
        str(file), raw_dir=raw, spark_home=fake_home(tmp_path / "spark"), turns=turns,
        data_cache=DataCache(tmp_path / "cache"),
    )  # fmt: skip
    told = json.loads((raw / "workload.json").read_text())["turns"]
    assert [one["prepared"]["facts"]["statements"][0]["arguments"]["n"] for one in told] == [10, 20]
    assert [one["conf"] for one in told] == [{}, {"spark.sql.ansi.enabled": "true"}]


def test_levels_that_take_turns_are_nobodys_of_the_whole(raw, tmp_path):
    turns = [({"workload.variant": "decimal"}, (0,)), ({"workload.variant": "timestamp"}, (1,))]
    home = fake_home(tmp_path / "spark")
    alone = spec(raw, tmp_path, spark_home=home).workload.levels
    made = spec(raw, tmp_path, spark_home=home, turns=turns).workload
    assert made.levels == {k: v for k, v in alone.items() if k != "workload.variant"} != alone
    told = json.loads((raw / "workload.json").read_text())["turns"]
    assert [one["spec"]["levels"]["workload.variant"] for one in told] == ["decimal", "timestamp"]


def test_missing_jar_is_named(raw, tmp_path, monkeypatch):
    class WithJar(type(launch.load("pyrometer.workloads.catalogue.interval_join:IntervalJoin"))):
        needs = launch_needs()

    monkeypatch.setattr(launch, "load", lambda entry: WithJar())
    with pytest.raises(CapabilityError, match=r"needs /nowhere/w\.jar"):
        spec(raw, tmp_path)


def launch_needs():
    from pyrometer.workloads.values import Needs

    return Needs(jars=("/nowhere/w.jar",))


def test_spark_home_of_the_environment_is_used(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARK_HOME", str(fake_home(tmp_path / "spark")))
    assert find_spark().home == tmp_path / "spark"


def test_python_environment_may_stand_for_its_spark(tmp_path):
    home = fake_home(tmp_path / "lib/python3.12/site-packages/pyspark")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").write_text("")
    found = find_spark(tmp_path)
    assert (found.home, found.python, found.import_path) == (home, str(tmp_path / "bin/python"), ())


def test_folder_without_spark_is_refused(tmp_path):
    with pytest.raises(UsageError, match="neither a Spark home"):
        find_spark(tmp_path)
    with pytest.raises(UsageError, match="holds no Python API"):
        find_spark(fake_home(tmp_path / "bare", python_api=False))


def test_no_spark_at_all_says_how_to_get_one(monkeypatch):
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(CapabilityError) as caught:
        find_spark()
    assert f"{sys.executable} -m pip install 'pyspark>=3.5,<5'" in caught.value.remedy


def test_a_pyspark_that_is_a_client_alone_is_no_spark(tmp_path, monkeypatch):
    monkeypatch.delenv("SPARK_HOME", raising=False)
    (tmp_path / "pyspark").mkdir()
    origin = str(tmp_path / "pyspark" / "__init__.py")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: SimpleNamespace(origin=origin))
    with pytest.raises(CapabilityError, match="this Python has no bin/spark-submit and jars"):
        find_spark()
    fake_home(tmp_path / "pyspark")
    assert find_spark().home == tmp_path / "pyspark"


@pytest.mark.parametrize(("version", "fits"), [("3.8", False), ("3.9", False), ("3.10", True)])
def test_a_python_too_old_for_the_runner_is_refused_before_data_is_made(
    raw, tmp_path, version, fits
):
    fake_home(tmp_path / "env" / "lib" / "python3" / "site-packages" / "pyspark")
    python = tmp_path / "env" / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f"#!/bin/sh\necho {version.replace('.', ' ')}\n")
    python.chmod(0o755)
    if fits:
        assert spec(raw, tmp_path, spark_home=tmp_path / "env").argv[0] == str(python)
        return
    with pytest.raises(CapabilityError, match=rf"env/bin/python is {version}$"):
        spec(raw, tmp_path, spark_home=tmp_path / "env")
    assert not (tmp_path / "cache").exists()


class WithoutSpark(Toy):
    name = "without-spark"
    engine = "process"


def test_a_workload_without_a_jvm_is_launched_beside_an_old_java(raw, tmp_path, monkeypatch):
    java = tmp_path / "java8" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    (tmp_path / "java8" / "release").write_text('JAVA_VERSION="1.8.0_392"\n')
    monkeypatch.setitem(registry.BUILTIN, "without-spark", f"{__name__}:WithoutSpark")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java8"))
    monkeypatch.setenv("PYROMETER_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PYROMETER_RUN_DIR", raising=False)
    trial = Trial(name="without-spark", iterations=1)
    made = launch_workload(trial, Needs(), RunPaths(tmp_path), no_progress)
    assert made.kind == "process"


def test_import_folder_holds_the_packages_and_nothing_else(tmp_path):
    folder = import_folder(tmp_path, "json.decoder")
    assert sorted(p.name for p in folder.iterdir()) == ["json", "pyrometer"]
    assert (folder / "pyrometer" / "__init__.py").is_file()
    assert import_folder(tmp_path, "json.decoder") == folder
    assert sorted(p.name for p in folder.iterdir()) == ["json", "pyrometer"]
    assert Path(os.readlink(folder / "json")).name == "json"
