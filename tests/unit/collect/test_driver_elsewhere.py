"""What spark-submit is given for a driver on the cluster, and how its application is found."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from tests.support.cli import pyrometer
from tests.support.hosts.agent import unpacked
from tests.support.hosts.shipping import Place
from tests.support.stores.planned_store import URL, Store, own_cache, use

from pyrometer import _artifacts
from pyrometer.collect.launch.command import understand, with_last_options
from pyrometer.collect.launch.driver_elsewhere import (
    DriverElsewhere,
    options_for,
    sending,
    sends_to,
    why_silent,
)
from pyrometer.collect.launch.treatment import Applied
from pyrometer.collect.probes.base import Needs
from pyrometer.core import schema
from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.store import ingest_run
from pyrometer.store.manifest import Host, Sender, read_manifest, write_manifest
from pyrometer.store.paths import RunPaths
from pyrometer.store.services.drivers import applications_sent, life_in
from pyrometer.store.services.folder_store import FolderStore
from pyrometer.store.services.stores import open_store

NEEDS = Needs(
    executor_options=("-XX:+DebugNonSafepoints",),
    agent={
        "plugin": "on", "raw.dir": "/here", "probe.tree": "on", "asprof.command": "start,event=cpu",
        "force.spark.eventLog.enabled": "true", "conf.spark.eventLog.dir": "file:///here",
        "conf.spark.eventLog.logStageExecutorMetrics": "true",
        "conf.spark.sql.codegen.comments": "true",
    },
)  # fmt: skip
APPLIED = Applied((), (), (), {"spark.sql.shuffle.partitions": "7"}, {})
DRIVER = DriverElsewhere("/mnt/shared", "one")
YARN = {"spark.master": "yarn"}


def given(said: dict[str, str], env: dict[str, str] | None = None) -> dict[str, str]:
    """Settings that hold for a command which says these, once ours stand behind its words."""
    words = options_for(DRIVER, said, NEEDS, APPLIED, env or {})
    return dict(understand(["spark-submit", *words, "a.py"]).settings)


def test_settings_and_the_jar_are_all_that_reaches_the_driver() -> None:
    found = given(YARN)
    ours = {name.removeprefix("spark.pyrometer."): value for name, value in found.items()}
    assert ours["ship.to"] == "/mnt/shared"
    assert (ours["ship.driver"], ours["run_id"]) == ("on", "one")
    assert ours["asprof.command"] == "start,event=cpu"
    assert ours["conf.spark.eventLog.logStageExecutorMetrics"] == "true"
    assert found["spark.jars"] == _artifacts.plugin_jar().as_uri()
    assert found["spark.sql.codegen.comments"] == "true"
    assert found["spark.sql.shuffle.partitions"] == "7", "the treatment"
    assert not {"raw.dir", "probe.tree", "conf.spark.eventLog.dir"} & set(ours)
    assert "spark.eventLog.enabled" not in found, "the user's own log stays as it is"


def test_lists_of_the_command_are_added_to_and_its_values_stay() -> None:
    found = given(
        {**YARN, "spark.jars": "a.jar,b.jar", "spark.plugins": "their.Plugin",
         "spark.executor.extraJavaOptions": "-Dmine=1", "spark.sql.codegen.comments": "false"}
    )  # fmt: skip
    assert found["spark.jars"] == f"a.jar,b.jar,{_artifacts.plugin_jar().as_uri()}"
    assert found["spark.plugins"] == "their.Plugin,org.pyrometer.plugin.PyrometerPlugin"
    assert found["spark.executor.extraJavaOptions"] == "-Dmine=1 -XX:+DebugNonSafepoints"
    assert "spark.sql.codegen.comments" not in found
    again = given({**YARN, "spark.plugins": found["spark.plugins"]})
    assert again["spark.plugins"] == found["spark.plugins"]


@pytest.mark.parametrize(
    ("master", "theirs", "driver"),
    [
        ("yarn", "-XX:+UseG1GC -Dre=a\\.b -Dm='c d'", "-Dre=a\\.b -Dm='c d'"),
        ("spark://m:7077", "-Dre=c:\\", "-Dre=c:\\"),
        ("k8s://m", "-Da='x y'  -Db=\\ -XX:+UseG1GC", "-Da='x y'  -Db=\\ -XX:+UseG1GC"),
    ],
)
def test_options_of_the_command_stay_as_they_are_written(
    master: str, theirs: str, driver: str
) -> None:
    names = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")
    said = {"spark.master": master, **dict.fromkeys(names, theirs)}
    applied = Applied(("-XX:+UseSerialGC",), (), (), {}, {})
    words = ["spark-submit", *options_for(DRIVER, said, NEEDS, applied, {}), "a.py"]
    found = understand(words).settings
    assert found[names[0]] == f"{driver} -XX:+UseSerialGC"
    kept = driver.removesuffix(" -XX:+UseG1GC")
    assert found[names[1]] == f"{kept} -XX:+DebugNonSafepoints -XX:+UseSerialGC"


def test_levels_win_over_options_of_the_command() -> None:
    words = [
        "spark-submit", "--executor-memory", "4g", "--num-executors=2",
        "--driver-java-options", "-Dmine=1", "a.py",
    ]  # fmt: skip
    force = {"spark.executor.memory": "8g", "spark.executor.instances": "4"}
    applied = Applied((), ("-XX:+UseSerialGC",), (), force, {})
    said = {**YARN, **understand(words).settings, **force}
    found = understand(with_last_options(words, options_for(DRIVER, said, NEEDS, applied, {})))
    assert found.argv[-1] == "a.py"
    assert {name: found.settings[name] for name in force} == force
    assert found.settings["spark.driver.extraJavaOptions"] == "-Dmine=1 -XX:+UseSerialGC"


@pytest.mark.parametrize(
    ("master", "waits", "by_default"),
    [
        ("spark://m:7077", "spark.standalone.submit.waitAppCompletion", False),
        ("yarn", "spark.yarn.submit.waitAppCompletion", True),
        ("k8s://https://m", "spark.kubernetes.submission.waitAppCompletion", True),
    ],
)
def test_the_command_waits_for_its_application(master: str, waits: str, by_default: bool) -> None:
    said = {"spark.master": master}
    assert given(said).get(waits) == (None if by_default else "true")
    assert given({**said, waits: "false"})[waits] == "true"
    assert waits not in given({**said, waits: "true"})


@pytest.mark.parametrize(
    ("said", "env", "why"),
    [
        (YARN, {}, None),
        ({"spark.master": "spark://m:7077"}, {}, "a standalone master brings no jars"),
        ({"spark.master": "spark://m:7077"}, {"PYROMETER_PLUGIN_JAR": "local:///p.jar"}, None),
        ({"spark.master": "k8s://https://m"}, {}, "spark.kubernetes.file.upload.path"),
        (
            {"spark.master": "k8s://https://m", "spark.kubernetes.file.upload.path": "s3a://b"},
            {},
            None,
        ),
        ({"spark.master": "k8s://https://m"}, {"PYROMETER_PLUGIN_JAR": "local:///p.jar"}, None),
    ],
)
def test_a_plugin_is_asked_for_only_where_its_jar_surely_comes(
    said: dict[str, str], env: dict[str, str], why: str | None
) -> None:
    found = why_silent(NEEDS, said, env, DRIVER.store)
    assert found is None if why is None else why in (found or "")
    assert "off" in (why_silent(Needs(agent={"plugin": "off"}), said, env, DRIVER.store) or "")


def test_a_store_is_shipped_to_only_if_it_can_be_written_and_we_can_read_it() -> None:
    paths = RunPaths(Path("/runs/one"))
    silent = sending(NEEDS, paths, YARN, {"PYROMETER_SHIP_TO": "nonsense://b/p"})
    assert "no file system of Hadoop's that writes to nonsense://" in str(silent)
    with pytest.raises(CapabilityError, match="no package that reads s3a://"):
        sending(NEEDS, paths, YARN, {"PYROMETER_SHIP_TO": "s3a://b/p"})
    found = sending(NEEDS, paths, YARN, {"PYROMETER_SHIP_TO": "/mnt/shared"})
    assert isinstance(found, DriverElsewhere)
    assert found.store == "/mnt/shared"


def test_it_ships_to_where_executors_do() -> None:
    paths = RunPaths(Path("/runs/one"))
    assert sends_to(NEEDS, paths, {}, {}) == "/runs/one/raw/chunks"
    assert sends_to(NEEDS, paths, {}, {"PYROMETER_SHIP_TO": "s3://b/p"}) == "s3://b/p"
    said = {"spark.pyrometer.ship.to": "/mnt/other"}
    assert sends_to(NEEDS, paths, said, {"PYROMETER_SHIP_TO": "/mnt/shared"}) == "/mnt/other"
    with pytest.raises(UsageError, match="PYROMETER_SHIP_TO=chunks"):
        sends_to(NEEDS, paths, said, {"PYROMETER_SHIP_TO": "chunks"})


def test_the_application_is_found_by_the_runs_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path, unpacked(tmp_path))
    for app, run_id in (("app-1", "one"), ("app-2", "two"), ("app-3", None)):
        begin = {"k": "process", "role": "driver", "pid": 7, "host": "h", "app_id": None}
        lines = [begin, {**begin, "app_id": app, "run_id": run_id}]
        text = "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in lines)
        folder = place.raw("h", **{"plugin-driver-driver-7.ndjson": text})
        place.ship(folder, app, "driver", "h")
    place.ship(place.raw("h"), "app-4", "1", "h")
    own_cache(tmp_path, monkeypatch)
    use(Store()).copy(place.store)
    since = time.time_ns() - 60 * 10**9
    for store in (FolderStore(place.store), open_store(URL)):
        assert applications_sent(store, "one", since, []) == ["app-1"]
        assert applications_sent(store, "three", since, []) == []
        assert applications_sent(store, "one", time.time_ns() + 60 * 10**9, []) == []


def test_a_driver_that_arrives_late_is_added_by_the_next_ingest(tmp_path: Path) -> None:
    place = Place(tmp_path, unpacked(tmp_path))
    place.describe(shipped=False)
    manifest = read_manifest(place.paths.root)
    manifest.driver = Sender(to=str(place.store), run_id="one")
    manifest.doubts = [schema.doubt("driver_unreachable", "Nothing of the driver.")]
    write_manifest(place.paths.root, manifest)
    ingest_run(place.paths.root)
    assert read_manifest(place.paths.root) == manifest, "nothing has arrived"

    process = {"k": "process", "role": "driver", "pid": 7, "host": "h", "app_id": "app-1",
               "run_id": "one", "mono_ns": place.begin, "wall_ns": place.now_ns}  # fmt: skip
    log = [
        {"Event": f"SparkListenerApplication{what}", "App ID": "app-1", "Timestamp": at}
        for what, at in (("Start", 1_000), ("End", 2_000))
    ]
    lines = ["".join(json.dumps(one, separators=(",", ":")) + "\n" for one in ones)
             for ones in ([process], log)]  # fmt: skip
    folder = place.raw("h", **{"plugin-driver-driver-7.ndjson": lines[0]})
    (folder / "eventlog").mkdir()
    (folder / "eventlog" / "driver-1").write_text(lines[1])
    place.ship(folder, "app-1", "driver", "h")
    report = ingest_run(place.paths.root)
    assert report.tables["apps"] == 1
    found = read_manifest(place.paths.root)
    assert [one.app_id for one in found.shipped] == ["app-1"]
    assert (found.started_wall_ns, found.ended_wall_ns) == (1_000_000_000, 2_000_000_000)
    assert (found.doubts, found.host) == ([], Host())


def test_an_application_lived_as_its_log_says(tmp_path: Path) -> None:
    log = tmp_path / "driver"
    lines = [
        {"Event": "SparkListenerApplicationStart", "Timestamp": 1_000},
        {"Event": "SparkListenerJobStart", "Submission Time": 1_500},
        {"Event": "SparkListenerApplicationEnd", "Timestamp": 2_000},
    ]
    log.write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in lines))
    assert life_in([log]) == (1_000_000_000, 2_000_000_000)
    log.write_text("\n".join(json.dumps(lines[0], separators=(",", ":")) for _ in range(1)))
    assert life_in([log, tmp_path / "none"]) == (1_000_000_000, None)
    log.write_bytes(b'{"Event":"SparkListenerApplicationStart","Timestamp":"x"}\n\xff\n')
    assert life_in([log]) == (None, None)


def test_without_the_jar_the_application_starts_as_it_would(tmp_path: Path) -> None:
    (tmp_path / "spark-submit").write_text("#!/bin/sh\nprintf '%s\\n' \"$@\" > said\n")
    (tmp_path / "spark-submit").chmod(0o755)
    words = ["--master", "spark://m:7077", "--deploy-mode", "cluster", "app.jar"]
    done = pyrometer(
        "run", "--no-report", "-o", "run", "--", "./spark-submit", *words, cwd=tmp_path
    )
    assert done.code == 0, done.stderr
    assert (tmp_path / "said").read_text().split() == words
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    (said,) = [one["message"] for one in manifest["doubts"] if one["code"] == "driver_unreachable"]
    assert "PYROMETER_PLUGIN_JAR=local:///PATH" in said
