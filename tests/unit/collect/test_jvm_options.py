"""Options of the JVM: what is asked for, what is pinned under limits, published sets."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from pyrometer.collect.host.placement import Place, Placement
from pyrometer.collect.launch import jvm_options
from pyrometer.collect.launch.command import understand
from pyrometer.collect.launch.jvm_options import (
    Limited,
    described,
    expressed,
    gc_threads,
    jit_threads,
    limited,
    option_sets,
    pinned,
)
from pyrometer.collect.launch.treatment import applied_here, apply_treatment
from pyrometer.core.errors import UsageError
from pyrometer.trial.factors import factors, parse_treatment
from pyrometer.trial.layout import Layout, resolve_layout

G1 = ["-XX:+UseG1GC", "-XX:ParallelGCThreads=2", "-XX:ConcGCThreads=1", "-XX:CICompilerCount=2"]


def options(*given: str) -> list[str]:
    treatment = parse_treatment(given)
    return list(apply_treatment(treatment, resolve_layout(treatment), None, 17).jvm_options)


def test_generations_and_threads_in_the_words_of_the_jvm() -> None:
    assert options("jvm.heap=2g", "jvm.young_share=0.25") == ["-Xmn512m"]
    assert options("jvm.gc_threads=3", "jvm.jit_threads=4", "jvm.options=-Xint") == [
        "-XX:ParallelGCThreads=3", "-XX:CICompilerCount=4", "-Xint",
    ]  # fmt: skip


def test_pages_tables_and_caches_of_the_jvm() -> None:
    assert options("jvm.pages=plain") == []
    assert options("jvm.pages=touched", "jvm.string_table=65536") == [
        "-XX:+UseTransparentHugePages",
        "-XX:+AlwaysPreTouch",
        "-XX:StringTableSize=65536",
    ]
    assert options("jvm.code_cache=512m", "jvm.inline_level=15", "jvm.pages=transparent") == [
        "-XX:+UseTransparentHugePages",
        "-XX:ReservedCodeCacheSize=536870912",
        "-XX:MaxInlineLevel=15",
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("jvm.young_share=0.3",), "needs jvm.heap"),
        (("jvm.young_share=0.3", "jvm.young=1g", "jvm.heap=4g"), "say the same"),
        (("jvm.young=1g", "jvm.gc=z"), "sizes its generations itself"),
        (("jvm.gc_threads=2", "jvm.gc=serial"), "one thread"),
    ],
)
def test_levels_that_contradict_are_refused(given: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        options(*given)


def test_what_limits_would_change_is_pinned_and_said() -> None:
    two = limited(parse_treatment(["cgroup.memory=1g"]), 2)
    assert pinned(two, 16, []) == G1
    assert "2 CPUs and 1024 MiB of memory; HotSpot would silently take its Serial" in described(
        two, G1
    )
    assert "silently" not in described(Limited(cpus=2), G1)
    assert limited(parse_treatment(["cpu.quota=0.5"]), 2) == Limited(cpus=1)
    # What somebody says already is theirs.
    assert pinned(two, 16, ["-XX:+UseSerialGC"]) == ["-XX:CICompilerCount=2"]
    assert pinned(two, 16, ["-XX:+UseParallelGC -Xint"]) == ["-XX:ParallelGCThreads=2"]
    assert pinned(two, 16, ["--conf", "x=-XX:ParallelGCThreads=9 -XX:CICompilerCount=3"]) == G1[:1]
    # A host of one CPU has the Serial collector anyway.
    assert pinned(Limited(memory=1 << 30), 1, []) == ["-XX:CICompilerCount=2"]


def test_pins_reach_driver_and_executors_each_by_its_cpus(tmp_path: Path) -> None:
    env = {**os.environ, "JAVA_TOOL_OPTIONS": ""}
    bound = Placement(
        Place(frozenset(range(8))), (Place(frozenset({0, 1})), Place(frozenset({2, 3})))
    )
    command = understand(["spark-submit", "--conf", "spark.driver.extraJavaOptions=-Xint", "a.py"])
    applied, doubts = applied_here({}, Layout(), command, bound, tmp_path, env)
    seen = min(8, os.cpu_count() or 1)
    assert f"-XX:ParallelGCThreads={gc_threads(seen)}" in applied.driver_options
    assert "-XX:ParallelGCThreads=2" in applied.executor_options or seen == 1
    assert {doubt.code for doubt in doubts} == {"jvm_pinned"}
    home = Path(applied.force["spark.executorEnv.JAVA_HOME"])
    assert (home / "bin" / "java").stat().st_mode & 0o111


def test_published_sets_are_levels_and_every_word_has_a_meaning() -> None:
    (declared,) = [factor for factor in factors() if factor.name == "jvm.option_set"]
    assert tuple(option_sets()) == declared.choices
    baseline = {word.word for word in option_sets()["tpch-1"]}
    for name, words in option_sets().items():
        assert words, name
        assert all(word.options or word.why for word in words)
        differing = baseline ^ {word.word for word in words}
        assert len(differing) == (0 if name == "tpch-1" else 1), name


def test_threads_of_a_set_are_as_many_as_the_tasks_of_the_cpus_that_are_left(
    tmp_path: Path,
) -> None:
    env = {**os.environ, "JAVA_TOOL_OPTIONS": ""}
    bound = Placement(Place(frozenset(range(48))))
    for given, threads in ((), 48), (("cpu.quota=1.5",), 2), (("layout.tasks=6",), 6):
        levels = parse_treatment(["jvm.option_set=tpch-1", *given])
        applied, _ = applied_here(levels, resolve_layout(levels), None, bound, tmp_path, env)
        assert f"-XX:ParallelGCThreads={threads}" in applied.jvm_options


def test_a_set_is_expressed_for_the_java_that_runs() -> None:
    old, told_old = expressed("tpch-4", 4, 17)
    new, told_new = expressed("tpch-4", 4, 25)
    assert set(old) - set(new) == {"-XX:+UseBiasedLocking"}
    assert any("-XlockReservation is near" in one for one in told_old)
    assert any("-XlockReservation has no equivalent" in one for one in told_new)
    asked = options("jvm.option_set=tpch-5", "layout.tasks=6", "jvm.gc=g1", "jvm.options=-Dx=1")
    assert asked == [
        "-XX:ParallelGCThreads=6", "-XX:NewRatio=1", "-XX:-CreateCoredumpOnCrash",
        "-XX:-HeapDumpOnOutOfMemoryError", "-XX:+DisableExplicitGC", "-XX:+UseG1GC", "-Dx=1",
    ]  # fmt: skip
    partial = apply_treatment({"jvm.option_set": "tpch-3"}, Layout(), None, 17).partial
    assert any("-Xnocompactgc has no equivalent" in one for one in partial)


@pytest.mark.slow
@pytest.mark.parametrize("cpus", [1, 2, 3, 4, 8, 9, 16, 64, 192])
def test_numbers_of_threads_are_those_of_the_jvm(cpus: int) -> None:
    flags = [f"-XX:ActiveProcessorCount={cpus}", "-XX:+UseG1GC", "-XX:+PrintFlagsFinal"]
    done = subprocess.run(["java", *flags, "-version"], capture_output=True, text=True, check=True)
    found = dict(re.findall(r"(\w+)\s+= (\d+)", done.stdout))
    assert int(found["ParallelGCThreads"]) == gc_threads(cpus)
    assert int(found["CICompilerCount"]) == jit_threads(cpus)
    (concurrent,) = [one for one in pinned(Limited(cpus), 256, []) if "ConcGC" in one]
    assert concurrent == f"-XX:ConcGCThreads={found['ConcGCThreads']}"


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(option_sets()))
def test_a_jvm_takes_the_sets(name: str) -> None:
    words, _ = expressed(name, 2, None)
    done = subprocess.run(["java", *words, "-version"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_small_machine_keeps_its_collector_when_pinned() -> None:
    limits = Limited(cpus=1, memory=jvm_options.SERVER_BYTES - 1)
    small = ["-XX:ActiveProcessorCount=1", "-XX:MaxRAM=1g", "-XX:+PrintFlagsFinal", "-version"]

    def serial(pins: list[str]) -> bool:
        done = subprocess.run(["java", *pins, *small], capture_output=True, text=True, check=True)
        return re.search(r"UseSerialGC\s+= true", done.stdout) is not None

    assert serial([])
    assert not serial(pinned(limits, 8, []))
