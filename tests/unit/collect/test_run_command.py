"""Reading a user's command, and writing options the way Spark's launcher reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrometer.collect.launch.command import (
    find_program,
    understand,
    unreachable,
    with_java_options,
)


@pytest.mark.parametrize(
    ("argv", "kind"),
    [
        (["spark-submit", "app.py"], "submit"),
        (["/opt/spark/bin/spark-shell"], "submit"),
        (["spark-sql", "-f", "q.sql"], "submit"),
        (["pyspark"], "submit"),
        (["python", "app.py"], "python"),
        (["/usr/bin/python3.11", "-m", "app"], "python"),
        (["java", "-cp", "x", "Main"], "java"),
        (["/usr/lib/jvm/bin/java", "Main"], "java"),
        (["bash", "run.sh"], "other"),
        (["pythonic"], "other"),
        (["javac"], "other"),
    ],
)
def test_kind_of_command(argv: list[str], kind: str) -> None:
    assert understand(argv).kind == kind


@pytest.mark.parametrize(
    "argv",
    [
        ["spark-submit", "--master", "yarn", "--deploy-mode", "cluster", "a.jar"],
        ["spark-submit", "--master=yarn", "--deploy-mode=cluster", "a.jar"],
        ["spark-submit", "--conf", "spark.submit.deployMode=cluster", "--master", "yarn", "a.jar"],
        ["spark-submit", "--conf=spark.submit.deployMode=cluster", "a.jar"],
    ],
)
def test_a_driver_elsewhere_is_told(argv: list[str]) -> None:
    assert unreachable(understand(argv)) is not None


@pytest.mark.parametrize(
    "argv",
    [
        ["spark-submit", "a.py", "--deploy-mode", "cluster", "--master=yarn"],
        ["spark-submit", "-v", "--supervise", "a.jar", "--conf", "spark.submit.deployMode=cluster"],
        ["spark-submit", "--name=x y", "--class", "A", "a=b.jar", "-c", "spark.master=yarn"],
        ["run-example", "SparkPi", "--driver-memory", "3g", "--properties-file", "f"],
    ],
)
def test_words_of_the_application_are_its_own(argv: list[str]) -> None:
    command = understand(argv)
    assert unreachable(command) is None
    assert (command.master, command.driver_memory, command.properties_file) == (None, None, None)


def test_a_shell_takes_options_behind_the_words_of_its_own() -> None:
    assert understand(["spark-sql", "-f", "q.sql", "--master", "yarn"]).master == "yarn"
    assert understand(["spark-shell", "mine", "--driver-memory", "3g"]).driver_memory == "3g"


def test_client_mode_is_reachable() -> None:
    command = understand(["spark-submit", "--master", "local[2]", "--driver-memory", "3g", "a.py"])
    assert unreachable(command) is None
    assert (command.master, command.driver_memory) == ("local[2]", "3g")


def test_options_of_java_stand_before_the_users_own() -> None:
    assert with_java_options(["java", "-Xmx1g", "Main"], ["-Da=1"]) == [
        "java", "-Da=1", "-Xmx1g", "Main",
    ]  # fmt: skip


@given(st.lists(st.text(), min_size=1))
def test_any_command_can_be_read(argv: list[str]) -> None:
    assert understand(argv).argv == tuple(argv)


def test_programs_are_found_in_spark_home_first(tmp_path: Path) -> None:
    script = tmp_path / "bin" / "spark-submit"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n")
    assert find_program("spark-submit", str(tmp_path), []) != str(script)
    script.chmod(0o755)
    assert find_program("spark-submit", str(tmp_path), []) == str(script)
    assert find_program(str(script), None, []) == str(script)
    assert find_program(str(tmp_path / "nothing"), None, []) is None
    assert find_program("no-such-program-here", None, []) is None
