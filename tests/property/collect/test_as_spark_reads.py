"""Options and files of settings that we read and write, against Spark's own code in one JVM."""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from pyrometer.collect.launch.command import understand
from pyrometer.collect.launch.jvm_options import with_more
from pyrometer.collect.launch.option_text import Reader, join_options, split_options
from pyrometer.collect.launch.properties import entries, written
from pyrometer.collect.launch.said_settings import settings_said
from pyrometer.core.errors import UsageError
from pyrometer.tune.judge.applied import deployed, merged
from pyrometer.tune.trials.unapplied import OPTIONS
from pyrometer.workloads.spark import find_spark

Reads = Callable[[str, str], list[str]]
SOURCE = Path(__file__).parents[2] / "support" / "java" / "SparkReads.java"
READERS: list[Reader] = ["launcher", "managers"]
BLANK = "".join(map(chr, set(range(33)) - set(b"\r\n")))
"""What Spark trims values of."""
in_one_jvm = settings(
    deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

# Spark's launcher reads characters beyond the first 65 536 twice.
signs = st.characters(codec="utf-8", max_codepoint=0xFFFF, exclude_characters="\0")
words = st.lists(st.text(signs))
texts = st.text(st.one_of(st.sampled_from("ab \t\\\"'=:#"), signs))
names = st.text(st.one_of(st.sampled_from("ab.=:#! \\"), signs)).map(lambda name: f"spark.{name}")


@pytest.fixture(scope="module")
def spark_reads() -> Iterator[Reads]:
    jars = f"{find_spark().home}/jars/*"
    with subprocess.Popen(
        ["java", "-cp", jars, SOURCE],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as jvm:  # fmt: skip
        assert jvm.stdin is not None
        assert jvm.stdout is not None

        def ask(reader: str, text: str) -> list[str]:
            assert jvm.stdin is not None
            assert jvm.stdout is not None
            jvm.stdin.write(f"{reader} +{base64.b64encode(text.encode()).decode()}\n")
            jvm.stdin.flush()
            answer = jvm.stdout.readline()
            assert answer, "the JVM ended"
            return [base64.b64decode(word[1:]).decode() for word in answer.split()]

        yield ask
        jvm.stdin.close()


def of_file(spark_reads: Reads, folder: Path, text: str) -> dict[str, str]:
    file = folder / "spark-defaults.conf"
    file.write_bytes(text.encode())
    found = spark_reads("file", str(file))
    return dict(zip(found[::2], found[1::2], strict=True))


@pytest.mark.parametrize("reader", READERS)
@in_one_jvm
@example(words=["-Dre=a\\.b", '-Dmsg=say "hi"', "", "\\", "\u2028", "\u00a0"])
@given(words=words)
def test_what_we_join_both_readers_of_spark_split_again(
    reader: Reader, words: list[str], spark_reads: Reads
) -> None:
    assert spark_reads(reader, join_options(words)) == words


@pytest.mark.parametrize("reader", READERS)
@in_one_jvm
@example(text=r"-Dre=a\.b")
@example(text=r"""-Da='b\c' -Dd="e\f" g\ h""")
@given(text=texts)
def test_we_split_as_each_reader_of_spark_does(
    reader: Reader, text: str, spark_reads: Reads
) -> None:
    try:
        ours = split_options(text, reader)
    except UsageError:
        assume(False)
    assert spark_reads(reader, text) == ours


@pytest.mark.parametrize("reader", READERS)
@in_one_jvm
@example(text=r"-Dre=a\.b -XX:+UseG1GC -Dmsg='say \"hi\"'")
@given(text=texts)
def test_options_that_stand_there_are_given_to_a_jvm_as_before(
    reader: Reader, text: str, spark_reads: Reads
) -> None:
    ours = ["-XX:+UseParallelGC", "-Dx=y z"]
    try:
        both = with_more(text, ours, reader)
    except UsageError:
        assume(False)
    theirs = [word for word in spark_reads(reader, text) if word != "-XX:+UseG1GC"]
    assert spark_reads(reader, both) == [*theirs, *ours]


@in_one_jvm
@example(found={"spark.a": r"-Dre=a\.b", "spark.b": "=c", "spark.d:e": "#f", "spark.ü": "ü"})
@given(found=st.dictionaries(names, texts))
def test_spark_reads_from_a_file_what_we_write(
    found: dict[str, str], spark_reads: Reads, tmp_path: Path
) -> None:
    text = "".join(f"{written(name, value)}\n" for name, value in found.items())
    meant = {name: value.strip(BLANK) for name, value in found.items()}
    assert of_file(spark_reads, tmp_path, text) == meant
    assert {one.name: one.value for one in entries(text)} == found


@in_one_jvm
@example(
    text="spark.a -Dre=a\\\\.b\n spark.b:c\\\n  d\\u00fc\n!x\\\nspark.c\nspark.d\\:e = =f\r\n\\\n"
)
@given(text=texts.map(lambda text: text.replace("\\u", "")))
def test_we_read_files_as_spark_does(text: str, spark_reads: Reads, tmp_path: Path) -> None:
    read = of_file(spark_reads, tmp_path, text)
    found = {one.name: one.value.strip(BLANK) for one in entries(text) if one.name}
    assert found == {name: value for name, value in read.items() if name}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("theirs", [r"""-Dmsg='say "hi"'""", r'-Dre="a\\.b" -Dq=\"', r"-Dp=c:\x"])
def test_options_of_a_file_that_is_tuned_are_given_to_a_jvm_as_before(
    name: str, theirs: str, spark_reads: Reads, tmp_path: Path
) -> None:
    reader = "launcher" if "driver" in name else "managers"
    if theirs.endswith('"') and reader == "managers":
        theirs = theirs.removesuffix('"')
    before = f"{written(name, theirs)}\n"
    after = merged(before, {name: "-XX:+UseParallelGC"})
    had, has = (of_file(spark_reads, tmp_path, text)[name] for text in (before, after))
    assert spark_reads(reader, has) == [*spark_reads(reader, had), "-XX:+UseParallelGC"]


def test_what_is_deployed_is_what_was_tuned(spark_reads: Reads, tmp_path: Path) -> None:
    level = r"""-Dre=a\\.b '-Dmsg=say "hi"'"""
    found = deployed({"jvm.options": level, "spark.my.path": r"c:\new"})
    for text in (found.conf, merged("", found.settings)):
        read = of_file(spark_reads, tmp_path, text)
        assert read["spark.my.path"] == r"c:\new"
        for name, reader in zip(OPTIONS, READERS, strict=True):
            assert spark_reads(reader, read[name]) == [r"-Dre=a\.b", '-Dmsg=say "hi"']
    own = ["spark-submit", "--properties-file", str(tmp_path / "spark-defaults.conf"), "a.py"]
    assert settings_said(understand(own), {"PATH": ""}) == read
