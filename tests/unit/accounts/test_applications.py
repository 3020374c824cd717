"""What an event log says of its application: versions, executors, settings and who set them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.tables import StageSpec, World

from pyrometer.accounts.applications import MAX_SETTINGS, MAX_VALUE, settings
from pyrometer.accounts.schema import App
from pyrometer.store import Run
from pyrometer.summary.summary import summary

MODULES = (
    "-Djava.net.preferIPv6Addresses=false -XX:+IgnoreUnrecognizedVMOptions"
    " --add-modules=jdk.incubator.vector --add-opens=java.base/java.lang=ALL-UNNAMED"
)


def app_of(world: World, folder: Path) -> App:
    with Run.open(world.write(folder)) as run:
        return summary(run).apps[0]


def test_what_somebody_chose_comes_before_what_spark_wrote() -> None:
    conf = {
        "spark.app.startTime": "1",
        "spark.driver.extraJavaOptions": MODULES,
        "spark.executor.extraJavaOptions": f"{MODULES} -Xss4m",
        "spark.plugins": "org.pyrometer.plugin.PyrometerPlugin",
        "spark.sql.shuffle.partitions": "8",
    }
    found = settings(conf, {"os.arch": "amd64"}, changed={"spark.plugins"})
    assert [(s.name, s.origin) for s in found] == [
        ("spark.executor.extraJavaOptions", "set"),
        ("spark.sql.shuffle.partitions", "set"),
        ("spark.plugins", "pyrometer"),
        ("spark.app.startTime", "spark"),
        ("spark.driver.extraJavaOptions", "spark"),
        ("os.arch", "jvm"),
    ]


def test_values_are_compared_with_the_defaults_of_their_version() -> None:
    conf = {
        "spark.sql.autoBroadcastJoinThreshold": "10485760",
        "spark.sql.shuffle.partitions": "8",
        "spark.sql.ansi.enabled": "false",
        "spark.scheduler.mode": "fifo",
        "spark.x": "1",
    }
    new = {s.name: (s.default, s.is_default) for s in settings(conf, {}, "4.1.0")}
    assert new == {
        "spark.sql.ansi.enabled": ("true", False),
        "spark.sql.shuffle.partitions": ("200", False),
        "spark.x": (None, None),
        "spark.scheduler.mode": ("FIFO", True),
        "spark.sql.autoBroadcastJoinThreshold": ("10MB", True),
    }
    assert list(new)[-2:] == ["spark.scheduler.mode", "spark.sql.autoBroadcastJoinThreshold"]
    older = {s.name: s.is_default for s in settings(conf, {}, "3.5.1")}
    assert older["spark.sql.ansi.enabled"] is True
    for unknown in (None, "2.4.8"):
        assert {s.default for s in settings(conf, {}, unknown)} == {None}


def test_a_number_that_no_machine_has_is_text_that_differs_from_the_default() -> None:
    (found,) = settings({"spark.sql.shuffle.partitions": "9" * 5000}, {}, "4.1.0")
    assert found.is_default is False


def test_settings_are_bounded_and_say_what_was_cut(tmp_path: Path) -> None:
    world = World([StageSpec([10])])
    many = {f"spark.x{number:05}": "y" for number in range(MAX_SETTINGS + 5)}
    world.rows["apps"][0]["spark_conf"] = json.dumps({"spark.a": "z" * 10_000, **many})
    app = app_of(world, tmp_path)
    assert (len(app.settings), app.settings_count) == (MAX_SETTINGS, MAX_SETTINGS + 6)
    assert app.settings[0].value == "z" * MAX_VALUE + " … (cut: 10,000 characters)"


def test_executors_alike_are_one_row_and_the_driver_counts_in_local_mode_alone(
    tmp_path: Path,
) -> None:
    world = World([StageSpec([10])])
    local = app_of(world, tmp_path / "local")
    assert [(e.executors_count, e.cores_count) for e in local.executors] == [(1, 2)]
    driver = world.rows["executors"][0]
    world.rows["executors"] += [
        {**driver, "executor_id": str(n), "host": f"h{n % 2}", "cores_count": 8} for n in range(3)
    ]
    cluster = app_of(world, tmp_path / "cluster")
    assert [(e.executors_count, e.hosts_count, e.cores_count) for e in cluster.executors] == [
        (3, 2, 8)
    ]
