"""The Java that will run, and what of ours it can be given."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from pyrometer.collect.host.placement import ANYWHERE, Place, Placement
from pyrometer.collect.launch.command import understand
from pyrometer.collect.launch.java import contradicted, java_of, refused, spark_env_home, unfit
from pyrometer.collect.launch.launch import program_of
from pyrometer.collect.launch.treatment import applied_here
from pyrometer.core.errors import UsageError
from pyrometer.trial.factors import parse_treatment
from pyrometer.trial.layout import Layout, resolve_layout


def make_java(home: Path, version: str = "17.0.1", modules: str | None = None) -> Path:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    text = f'JAVA_VERSION="{version}"\n' + (f'MODULES="{modules}"\n' if modules else "")
    (home / "release").write_text(text)
    return java


def make_spark(home: Path, spark_env: str | None = None, defaults: str = "") -> Path:
    script = home / "bin" / "spark-submit"
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    (home / "conf").mkdir()
    if spark_env is not None:
        (home / "conf" / "spark-env.sh").write_text(spark_env)
    (home / "conf" / "spark-defaults.conf").write_text(defaults)
    return script


def environment(**more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], **more}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("export JAVA_HOME='{other}'\n", True),
        ("JAVA_HOME='{other}'  # set -a exports it\n", True),
        ('[ -d "{other}" ] && JAVA_HOME="{other}"; echo said; echo said >&2\n', True),
        ("# JAVA_HOME is left to the user\n", False),
        ("export SPARK_LOG_DIR=/x\n", False),
        ("export JAVA_HOME={other}; exit 3\n", False),
        ("JAVA_HOME=$(( syntax error\n", False),
    ],
)
def test_spark_env_says_which_java_runs(text: str, found: bool, tmp_path: Path) -> None:
    other = make_java(tmp_path / "a b", "1.8.0_392")
    make_spark(tmp_path / "spark", text.replace("{other}", str(tmp_path / "a b")))
    env = environment(SPARK_HOME=str(tmp_path / "spark"))
    submit = understand(["spark-submit", "app.py"])
    assert (spark_env_home(submit, env) == str(tmp_path / "a b")) == found
    assert (java_of(submit, env) == str(other)) == found
    assert spark_env_home(submit, {**env, "SPARK_ENV_LOADED": "1"}) is None


def test_spark_env_is_found_from_the_script(tmp_path: Path) -> None:
    make_java(tmp_path / "java")
    script = make_spark(tmp_path / "spark", f"JAVA_HOME={tmp_path / 'java'}\n")
    (tmp_path / "link").symlink_to(script)
    command = understand([str(tmp_path / "spark" / "bin" / "spark-submit"), "app.py"])
    assert spark_env_home(command, environment()) == str(tmp_path / "java")
    assert spark_env_home(understand(["bash", "x.sh"]), environment()) is None


@pytest.mark.parametrize(
    ("version", "modules", "said", "why"),
    [
        ("1.8.0_392", None, "", "is Java 8"),
        ("9.0.4", None, "", "is Java 9"),
        ("11.0.2", None, "", None),
        ("17.0.1", "java.base java.instrument java.management jdk.management", "", None),
        ("21.0.1", "java.base java.logging", "", "java.instrument, java.management"),
        ("21.0.1", "java.base java.instrument java.management", "", "jdk.management"),
        ("25", None, "-XX:AOTCache=a.aot", "AOTCache="),
        ("25", None, "-Dx=y -XX:AOTMode=on", "AOTMode="),
        ("25", None, "-XX:AOTMode=off", None),
        ("25", None, "-XX:AOTCacheOutput=a.aot", "AOTCacheOutput="),
        ("17", None, "spark.driver.extraJavaOptions -XX:ArchiveClassesAtExit=/x", "Archive"),
        ("21", None, "-XX:+AutoCreateSharedArchive", "AutoCreate"),
        ("17", None, "-XX:SharedArchiveFile=a.jsa -Xshare:auto", None),
    ],
)
def test_an_agent_that_would_keep_a_jvm_from_starting_is_left_out(
    version: str, modules: str | None, said: str, why: str | None, tmp_path: Path
) -> None:
    reason = unfit(str(make_java(tmp_path, version, modules)), ["-Xint", said])
    assert (reason is None) == (why is None)
    assert why is None or why in str(reason)


def test_a_java_that_is_only_guessed_keeps_the_agent(tmp_path: Path) -> None:
    # Its entry loads in an old JVM as well; the script may start another one.
    java = str(make_java(tmp_path, "1.8.0_392"))
    assert unfit(java, []) is not None
    assert unfit(java, [], guessed=True) is None
    assert unfit(None, []) is None


def test_options_are_left_out_of_the_launch_with_a_doubt(tmp_path: Path) -> None:
    make_java(tmp_path / "java", "1.8.0_392")
    make_spark(tmp_path / "spark", f"JAVA_HOME={tmp_path / 'java'}\n")
    env = environment(SPARK_HOME=str(tmp_path / "spark"))
    command = understand(["spark-submit", "app.py"])
    applied, doubts = applied_here({}, Layout(), command, Placement(), tmp_path, env)
    assert "is Java 8" in str(applied.unfit)
    assert [doubt.code for doubt in doubts] == ["options_left_out"]


@pytest.mark.parametrize("where", ["defaults", "properties", "environment", "command"])
def test_a_collector_that_the_application_has_already_is_refused(
    where: str, tmp_path: Path
) -> None:
    theirs = "-XX:+UseSerialGC"
    defaults = f"spark.driver.extraJavaOptions {theirs}\n"
    make_spark(tmp_path / "spark", defaults=defaults if where == "defaults" else "")
    (tmp_path / "own.conf").write_text(defaults)
    words = {
        "properties": ["--properties-file", str(tmp_path / "own.conf")],
        "command": ["--driver-java-options", f"-Dx=1 {theirs}"],
    }.get(where, [])
    env = environment(SPARK_HOME=str(tmp_path / "spark"))
    if where == "environment":
        env["SPARK_SUBMIT_OPTS"] = theirs
    levels = parse_treatment(["jvm.gc=parallel"])
    command = understand(["spark-submit", *words, "app.py"])
    with pytest.raises(UsageError, match=r"jvm.gc: the JVM does not start.*[Cc]ollector"):
        applied_here(levels, resolve_layout(levels), command, Placement(), tmp_path, env)


def test_a_collector_in_a_comment_of_sparks_defaults_is_nobodys(tmp_path: Path) -> None:
    commented = "# spark.driver.extraJavaOptions -XX:+UseSerialGC\n"
    make_spark(tmp_path / "spark", defaults=commented)
    env = environment(SPARK_HOME=str(tmp_path / "spark"))
    levels = parse_treatment(["jvm.gc=parallel"])
    command = understand(["spark-submit", "app.py"])
    asked = resolve_layout(levels)
    applied, _ = applied_here(levels, asked, command, Placement(), tmp_path, env)
    assert "-XX:+UseParallelGC" in applied.jvm_options


def test_pins_that_the_application_contradicts_are_left_out(tmp_path: Path) -> None:
    # One CPU: -XX:ConcGCThreads would be more than the application's -XX:ParallelGCThreads.
    bound = Placement(Place(frozenset(range(32))), ())
    options = "-XX:+UseParallelGC -XX:+UseSerialGC"
    command = understand(["spark-submit", "--driver-java-options", "-XX:+UseEpsilonGC", "a.py"])
    env = environment()
    applied, doubts = applied_here({}, Layout(), command, bound, tmp_path, env)
    assert "-XX:+UseG1GC" not in applied.driver_options
    # Epsilon is experimental: that JVM does not start without ours either, so nothing is said.
    assert "options_left_out" not in {doubt.code for doubt in doubts}
    assert contradicted("java", ["-XX:ConcGCThreads=3"], ["-XX:ParallelGCThreads=1"]) is not None
    assert contradicted("java", ["-XX:+UseG1GC"], [options]) is None


def test_only_what_can_do_no_more_than_be_understood_is_tried(tmp_path: Path) -> None:
    java = tmp_path / "java"
    java.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {tmp_path}/words\n')
    java.chmod(0o755)
    ours = [
        "-XX:+UseG1GC", "-Xmn64m", "-Dx=y", "-XX:OnError=rm", "-Xlog:gc:file=x", "-javaagent:a.jar",
        "-XX:+AlwaysPreTouch", "-XX:NewSize=1g", "-XX:+PauseAtStartup", "-Xint",
    ]  # fmt: skip
    theirs = ["-XX:StartFlightRecording=filename=x -XX:-UseTLAB --conf a=-XX:NewRatio=2,b"]
    assert contradicted(str(java), ours, theirs) is None
    words = (tmp_path / "words").read_text().split()
    assert words == [
        "-XX:+UseG1GC", "-Xmn64m", "-XX:NewSize=1g", "-Xint", "-XX:-UseTLAB", "-XX:NewRatio=2",
        "-version",
    ]  # fmt: skip


def test_variables_of_the_jvm_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:OnError=x -javaagent:nowhere.jar")
    assert refused("java", ("-Xint", "-Xmn8m")) is None
    why = contradicted("java", ["-XX:+UseG1GC"], ["-Dx=y -XX:+UseSerialGC"])
    assert "garbage collectors" in str(why)


def test_a_java_that_cannot_be_asked_is_told(tmp_path: Path) -> None:
    assert "No such file" in str(refused(str(tmp_path / "java"), ("-Xint",)))
    why = refused("java", ("-XX:+NoSuchFlagAtAll",))
    assert "Unrecognized VM option" in str(why)
    assert refused("java", ("-Xint",)) is None


def test_a_home_that_spark_env_replaces_is_refused(tmp_path: Path) -> None:
    make_java(tmp_path / "asked")
    make_java(tmp_path / "other")
    make_spark(tmp_path / "spark", f"JAVA_HOME={tmp_path / 'other'}\n")
    env = environment(SPARK_HOME=str(tmp_path / "spark"))
    levels = parse_treatment([f"jvm.home={tmp_path / 'asked'}"])
    command = understand(["spark-submit", "app.py"])
    with pytest.raises(UsageError, match="sets JAVA_HOME="):
        applied_here(levels, Layout(), command, Placement(ANYWHERE), tmp_path, env)


def test_a_home_beside_the_path_of_a_java_is_refused(tmp_path: Path) -> None:
    asked, other = make_java(tmp_path / "asked"), make_java(tmp_path / "other")
    levels = parse_treatment([f"jvm.home={tmp_path / 'asked'}"])
    env, place = environment(), Placement(ANYWHERE)
    command = understand([str(other), "Main"])
    with pytest.raises(UsageError, match="the command itself starts"):
        applied_here(levels, Layout(), command, place, tmp_path, env)
    same = understand([str(asked), "Main"])
    applied, _ = applied_here(levels, Layout(), same, place, tmp_path, env)
    assert applied.env["JAVA_HOME"] == str(tmp_path / "asked")


def test_a_home_may_be_below_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = make_java(tmp_path / "java")
    monkeypatch.setenv("HOME", str(tmp_path))
    levels = parse_treatment(["jvm.home=~/java"])
    place, env = Placement(ANYWHERE), environment()
    command = understand([str(java), "Main"])
    applied, _ = applied_here(levels, Layout(), command, place, tmp_path, env)
    assert applied.env["JAVA_HOME"] == str(tmp_path / "java")
    assert program_of(understand(["java", "Main"]), env, levels) == str(java)


@pytest.mark.parametrize("word", ["-Xmx1g", "-Dspark.a=b", "'-Da=b c"])
def test_options_that_spark_would_end_the_application_for_are_refused(
    word: str, tmp_path: Path
) -> None:
    levels = parse_treatment([f"jvm.options={word}"])
    with pytest.raises(UsageError, match=r"Spark refuses|quote is not closed"):
        applied_here(levels, Layout(), None, Placement(), tmp_path, environment())


def test_the_java_of_a_java_command_is_its_own(tmp_path: Path) -> None:
    java = make_java(tmp_path / "mine", "1.8.0_1")
    env = environment(JAVA_HOME="/elsewhere")
    assert java_of(understand([str(java), "Main"]), env) == str(java)
    where = subprocess.run(["which", "java"], capture_output=True, text=True, check=True).stdout
    assert java_of(understand(["java", "Main"]), env) == where.strip()
