"""What a command needs in a machine: its words that are files, its Spark, and its Pythons."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrometer.core.errors import CommandNotExecutableError, CommandNotFoundError
from pyrometer.orchestrator.command_files import CommandFiles, files_of_command, named, roots_of


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in, with a folder of programs that is all of PATH."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for name in ("SPARK_HOME", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def program(path: Path, text: str = "#!/bin/sh\n") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def python(path: Path) -> str:
    """A Python that says where it lies."""
    home = path.parent.parent
    said = [str(path), str(home), str(home), [str(home / "lib/modules")]]
    return program(path, f"#!/bin/sh\necho '{json.dumps(said)}'\n")


def files(*argv: str, **more: str) -> CommandFiles:
    return files_of_command(argv, {**os.environ, **more}, {})


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("input", ["input"]),
        ("--jars=a.jar,b.jar", ["a.jar", "b.jar"]),
        ("a.jar,none.jar,b.jar", ["a.jar", "b.jar"]),
        ("--py-files=a.jar", ["a.jar"]),
        ("spark.jars=a.jar,b.jar", ["a.jar", "b.jar"]),
        ("spark.driver.extraJavaOptions=-Dfile=a.jar", ["a.jar"]),
        ("-javaagent:a.jar", ["a.jar"]),
        ("-javaagent:a.jar=8080:c.yaml", ["a.jar", "c.yaml"]),
        ("-agentpath:a.jar=start,config=c.yaml", ["a.jar", "c.yaml"]),
        (
            "spark.driver.extraJavaOptions=-javaagent:a.jar=8080:c.yaml -Dfile=b.jar -Xmx1g",
            ["a.jar", "c.yaml", "b.jar"],
        ),
        ("--query=SELECT * FROM t", []),
        ("a.jar:b.jar", ["a.jar", "b.jar"]),
        ("a.jar#name", ["a.jar"]),
        ("local:{here}/a.jar", ["a.jar"]),
        ("file:{here}/a.jar", ["a.jar"]),
        ("file://{here}/a.jar#name", ["a.jar"]),
        ("?.jar", ["a.jar", "b.jar"]),
        ("--in=input/day=1", ["input/day=1"]),
        ("input/day=1,input/day=2", ["input/day=1", "input/day=2"]),
        ("x,y=z", ["x,y=z"]),
        ("hdfs://input", []),
        ("--conf=spark.local.dir=input", []),
        ("/", []),
        ("yarn", []),
        ("", []),
    ],
)
def test_a_word_names_what_is_here(word: str, found: list[str], here: Path) -> None:
    for name in ("a.jar", "b.jar", "c.yaml", "x,y=z"):
        (here / name).touch()
    for day in "12":
        (here / f"input/day={day}").mkdir(parents=True)
    paths = named(word.replace("{here}", str(here)))
    assert paths == [str(here / name) for name in found]


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_any_word_can_be_read(word: str) -> None:
    assert all(os.path.lexists(path) for path in named(word))


def test_words_without_a_slash_or_a_suffix_go_along(here: Path) -> None:
    script = program(here / "bin/job")
    (here / "input").mkdir()
    assert files("job", "input", "output").data == (script, str(here / "input"))


def test_a_script_of_spark_on_path_brings_its_home(here: Path) -> None:
    script = program(here / "spark/bin/spark-submit")
    (here / "spark/jars").mkdir()
    (here / "bin/spark-submit").symlink_to(script)
    found = files("spark-submit", "a.jar")
    assert found.programs == (str(here / "spark"),)
    assert found.data == (str(here / "bin/spark-submit"),)
    assert files("spark-submit", "a.jar", SPARK_HOME=str(here / "spark")).programs == ()


def test_a_script_that_pip_installed_brings_what_lies_beside_it_and_asks_its_python(
    here: Path,
) -> None:
    for name in ("spark-submit", "find-spark-home", "find_spark_home.py", "other"):
        program(here / "bin" / name)
    found = files("spark-submit", "a.jar", PYSPARK_PYTHON=python(here / "env/bin/python"))
    assert found.programs == (
        *(str(here / "bin" / one) for one in ("find-spark-home", "find_spark_home.py")),
        str(here / "bin/spark-submit"),
        str(here / "env/bin/python"), str(here / "env/pyvenv.cfg"), str(here / "env/lib/modules"),
    )  # fmt: skip


@pytest.mark.parametrize(
    "argv",
    [
        ["python", "app.py"],
        ["job"],
        ["spark-submit", "app.py"],
        ["spark-submit", "--conf", "spark.pyspark.python={here}/bin/python3", "a.jar"],
    ],
)
def test_a_python_comes_with_its_modules(argv: list[str], here: Path) -> None:
    program(here / "spark/bin/spark-submit")
    (here / "spark/jars").mkdir()
    (here / "bin/spark-submit").symlink_to(here / "spark/bin/spark-submit")
    program(here / "bin/job", "#!/usr/bin/env python3\n")
    for name in ("python", "python3"):
        python(here / "bin" / name)
    words = [word.replace("{here}", str(here)) for word in argv]
    assert str(here / "lib/modules") in files(*words).programs


def test_of_a_job_without_python_and_of_our_own_python_nothing_is_added(here: Path) -> None:
    program(here / "spark/bin/spark-submit")
    (here / "spark/jars").mkdir()
    python(here / "bin/python3")
    found = files(str(here / "spark/bin/spark-submit"), "a.jar")
    assert found.programs == (str(here / "spark"),)
    assert roots_of([sys.executable, "no-such-python"], os.environ) == []


def test_a_java_by_its_path_brings_its_home(here: Path) -> None:
    java = program(here / "jdk/bin/java")
    assert files(java, "-version").programs == (str(here / "jdk"),)


def test_folders_that_hold_everything_else_are_not_taken_whole(here: Path) -> None:
    script = program(here / "bin/job")
    home = here / "home/me"
    (home / "input").mkdir(parents=True)
    words = ["--out=.", "spark.eventLog.dir=file:/tmp", str(home), str(home.parent)]
    found = files("job", *words, str(home / "input"), HOME=str(home))
    assert found.data == (script, str(home / "input"))
    assert found.too_wide == (str(here), "/tmp", str(home), str(home.parent))
    assert files("job", "-cp", ".").data == (script, str(here))


def test_files_that_variables_name_go_along(here: Path) -> None:
    program(here / "bin/job")
    for name in ("a.jar", "b.jar", "lib/c.jar", "conf/core-site.xml"):
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).touch()
    found = files(
        "job",
        PYSPARK_SUBMIT_ARGS="--jars a.jar --name 'b.jar c' pyspark-shell",
        SPARK_SUBMIT_OPTS=f"-javaagent:{here}/b.jar=x -Dy='",
        SPARK_DIST_CLASSPATH=f"{here}/lib/*",
        HADOOP_CONF_DIR=str(here / "conf"),
    )
    assert set(found.data) == {
        str(here / one) for one in ("bin/job", "a.jar", "b.jar", "lib/c.jar", "conf")
    }


def test_a_program_that_is_not_here_is_refused_before_there_is_a_machine(here: Path) -> None:
    with pytest.raises(CommandNotFoundError, match="nosuch"):
        files("nosuch")
    (here / "app").write_text("#!/bin/sh\n")
    with pytest.raises(CommandNotExecutableError, match="no permission"):
        files("./app")
