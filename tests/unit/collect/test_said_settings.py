"""Settings that hold for a command before it runs: by words, files and variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyrometer.collect.launch.command import understand
from pyrometer.collect.launch.said_settings import settings_said

NOWHERE = {"PATH": ""}


@pytest.mark.parametrize(
    ("argv", "settings"),
    [
        (
            ["spark-submit", "--master", "local[2]", "--conf", "spark.a=1", "-c", "spark.b=2",
             "--conf=spark.c=x=y", "app.py"],
            {"spark.master": "local[2]", "spark.a": "1", "spark.b": "2", "spark.c": "x=y"},
        ),
        (
            ["spark-submit", "--driver-memory=6g", "--executor-memory", "8g",
             "--conf", "spark.driver.memory=1g", "app.py"],
            {"spark.driver.memory": "6g", "spark.executor.memory": "8g"},
        ),
        (
            ["java", "-Xmx6g", "-Dspark.master=local[3]", "-Dmine=1", "Main"],
            {"spark.driver.memory": "6g", "spark.master": "local[3]"},
        ),
        (["python", "app.py", "--conf", "spark.a=1"], {}),
    ],
)  # fmt: skip
def test_words_say_settings(argv: list[str], settings: dict[str, str]) -> None:
    assert settings_said(understand(argv), NOWHERE) == settings


def test_words_win_over_a_file_of_ones_own_and_that_takes_the_place_of_sparks(
    tmp_path: Path,
) -> None:
    (tmp_path / "spark-defaults.conf").write_text(
        "# ours\nspark.a 1\nspark.b = 1\nspark.c: 1\nspark.master spark://far:7077\n"
    )
    own = tmp_path / "own.conf"
    own.write_text("spark.b\t2\n  spark.c  2\n")
    env = {**NOWHERE, "SPARK_CONF_DIR": str(tmp_path), "SPARK_DRIVER_MEMORY": "3g"}
    words = ["--conf", "spark.c=3", "app.py"]
    defaults = settings_said(understand(["spark-submit", *words]), env)
    assert defaults == {
        "spark.a": "1", "spark.b": "1", "spark.c": "3", "spark.master": "spark://far:7077",
        "spark.driver.memory": "3g",
    }  # fmt: skip
    mine = ["spark-submit", "--properties-file", str(own), *words]
    assert settings_said(understand(mine), env) == {
        "spark.b": "2", "spark.c": "3", "spark.driver.memory": "3g",
    }  # fmt: skip
    both = settings_said(understand([*mine[:-1], "--load-spark-defaults", "app.py"]), env)
    assert (both["spark.a"], both["spark.b"], both["spark.c"]) == ("1", "2", "3")


def test_a_setting_may_go_on_in_further_lines_of_a_file(tmp_path: Path) -> None:
    own = tmp_path / "own.conf"
    own.write_text("# one \\\nspark.a 1,\\\n   2,\\\n   3\nspark.b c:\\\\\nspark.d 4\n")
    found = settings_said(understand(["spark-submit", "--properties-file", str(own), "a"]), NOWHERE)
    assert found == {"spark.a": "1,2,3", "spark.b": "c:\\", "spark.d": "4"}


def test_pyspark_takes_its_options_from_a_variable() -> None:
    env = {**NOWHERE, "PYSPARK_SUBMIT_ARGS": "--master 'local[2]' pyspark-shell"}
    assert settings_said(understand(["python", "app.py"]), env) == {"spark.master": "local[2]"}
    broken = {**NOWHERE, "PYSPARK_SUBMIT_ARGS": "--master 'local"}
    assert settings_said(understand(["python", "app.py"]), broken) == {}
