"""Factors, levels and treatments."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrometer.collect.launch.command import understand
from pyrometer.collect.launch.treatment import apply_treatment
from pyrometer.collect.probes.profile import parse_profile
from pyrometer.core.errors import CapabilityError, PyrometerError, UsageError
from pyrometer.trial.factors import factors, parse_cpus, parse_treatment
from pyrometer.trial.layout import Layout, resolve_layout
from pyrometer.trial.trial import Trial

OWN = {"workload.variant": ["decimal", "timestamp"], "data.codec": ["snappy", "zstd"]}


def test_every_declared_factor_says_what_it_is() -> None:
    names = [factor.name for factor in factors()]
    assert len(names) == len(set(names)) > 20
    for factor in factors():
        assert factor.doc.endswith("."), factor.name
        assert factor.range is None or factor.unit, factor.name
        assert factor.type in (
            "word",
            "text",
            "int",
            "float",
            "size",
            "cpus",
            "path",
            "choice",
        )
        assert (factor.type == "choice") == bool(factor.choices), factor.name


def test_every_declared_factor_stands_in_the_reference() -> None:
    reference = Path(__file__).parents[3] / "docs" / "reference" / "factors.md"
    text = reference.read_text(encoding="utf-8")
    known = {factor.name for factor in factors() if not factor.name.endswith("*")}
    assert [name for name in sorted(known) if f"`{name}`" not in text] == []


def test_levels_are_read_in_their_type() -> None:
    given_ = ["jvm.heap=512m", "jvm.gc=z", "layout.tasks=4", "host.cpus=0-1", "spark.a.b= x "]
    assert parse_treatment(given_) == {
        "jvm.heap": 512 << 20,
        "jvm.gc": "z",
        "layout.tasks": 4,
        "host.cpus": "0-1",
        "spark.a.b": "x",
    }


def test_a_workloads_own_words_need_no_prefix() -> None:
    treatment = parse_treatment(["variant=decimal", "data.codec=zstd"], OWN)
    assert treatment == {"workload.variant": "decimal", "data.codec": "zstd"}


@pytest.mark.parametrize(
    ("setting", "message", "remedy"),
    [
        ("jvm.hep=2g", "unknown factor 'jvm.hep'", "'jvm.heap'"),
        ("layout.task=2", "unknown factor", "'layout.tasks'"),
        ("varian=decimal", "unknown factor", "'variant'"),
        ("jvm.gc=paralel", "no level 'paralel'", "'parallel'"),
        ("jvm.heap=lots", "not a size", "2g"),
        ("jvm.heap=1k", "out of range", "from 64m to 1t"),
        ("cgroup.swap=99t", "out of range", "from 0 to 1t"),
        ("layout.tasks=0", "out of range", "from 1"),
        ("layout.tasks=two", "not a number", "layout.tasks=2"),
        ("jvm.young_share=half", "not a number of parts of the heap", "jvm.young_share=0.5"),
        ("host.cpus=3-1", "neither a number nor a set", "0,2-3"),
        ("cgroup.memroy=3g", "unknown factor 'cgroup.memroy'", "did you mean 'cgroup.memory'?"),
        ("cgroup.readbps=3m", "unknown factor", "did you mean 'cgroup.read_bps'?"),
        ("jvm.heap", "not of the form", "factor=level"),
        ("=2", "not of the form", "factor=level"),
        ("jvm.home=", "has no level", "Folder"),
    ],
)
def test_mistakes_are_named_with_what_was_meant(setting: str, message: str, remedy: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_treatment([setting], OWN)
    assert message in caught.value.message
    assert remedy in f"{caught.value.message} {caught.value.remedy}"


def test_a_factor_given_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="twice"):
        parse_treatment(["variant=decimal", "workload.variant=timestamp"], OWN)


@pytest.mark.parametrize("setting", ["cgroup.cpus=1", "os.governor=x", "engine=x"])
def test_what_this_version_cannot_honour_is_refused_with_the_reason(setting: str) -> None:
    with pytest.raises(CapabilityError) as caught:
        parse_treatment([setting])
    assert len(caught.value.message.split(": ", 1)[1]) > 20


@given(st.text())
def test_any_text_is_a_setting_or_an_error(text: str) -> None:
    for read in (lambda: parse_treatment([text], OWN), lambda: parse_profile(text)):
        refused = None
        try:
            read()
        except PyrometerError as error:
            refused = error
        assert refused is None or refused.message


@given(st.text(alphabet="0123456789,- "))
def test_any_set_of_cpus_is_read_or_refused(text: str) -> None:
    try:
        found = parse_cpus(text)
    except UsageError:
        return
    assert found


def test_profiles_are_as_documented() -> None:
    assert parse_profile("off").probes == ("eventlog",)
    full = parse_profile("full")
    assert full.stack_events == {"cpu": "10ms", "wall": "50ms", "alloc": "8m", "lock": "10ms"}
    assert full.probes == ("eventlog", "plugin", "gc", "jit", "os", "stacks", "python")
    with pytest.raises(UsageError, match="three ways"):
        parse_profile("cpu,ctimer")


def test_a_trial_is_a_workload_or_a_command() -> None:
    with pytest.raises(UsageError):
        Trial()
    with pytest.raises(UsageError):
        Trial(name="x", command=("y",))
    assert Trial(command=("spark-submit", "--master", "x", "a/my_app.py")).label == "my_app"


def test_a_treatment_in_the_words_of_each_kind_of_command() -> None:
    treatment = parse_treatment(["jvm.heap=2g", "jvm.gc=g1", "spark.x=1"])
    layout = resolve_layout(treatment)
    submit = apply_treatment(treatment, layout, understand(["spark-submit", "a.py"]))
    assert submit.submit_options == ("--driver-memory", "2048m", "--conf", "spark.x=1")
    assert submit.jvm_options == ("-XX:+UseG1GC",)
    assert submit.force == {"spark.executor.memory": "2048m", "spark.x": "1"}
    java = apply_treatment(treatment, layout, understand(["java", "Main"]))
    assert java.driver_options == ("-Xmx2048m",)
    built_in = apply_treatment(treatment, layout, None)
    assert built_in.force["spark.driver.memory"] == "2048m"


@pytest.mark.parametrize(
    "argv",
    [["java", "-Xmx1g", "M"], ["spark-submit", "--conf", "spark.driver.memory=1g", "a.py"]],
)
def test_a_heap_given_twice_is_refused(argv: list[str]) -> None:
    with pytest.raises(UsageError, match="1g"):
        apply_treatment({}, Layout(heap_bytes=2 << 30), understand(argv))


def test_a_layout_needs_a_master_of_this_machine() -> None:
    treatment = parse_treatment(["layout.tasks=2"])
    layout = resolve_layout(treatment)
    local = understand(["spark-submit", "--master", "local[4]", "a.py"])
    assert apply_treatment(treatment, layout, local).force["spark.master"] == "local[2]"
    assert apply_treatment(treatment, layout, None).force["spark.master"] == "local[2]"
    with pytest.raises(UsageError, match=r"layout\.tasks: the command names the master yarn"):
        apply_treatment(treatment, layout, understand(["spark-submit", "--master", "yarn", "a.py"]))


def test_a_master_beside_that_of_the_command_is_refused() -> None:
    def given(words: str, level: str) -> str:
        command = understand(["spark-submit", "--master", words, "a.py"])
        return apply_treatment({"spark.master": level}, Layout(), command).force["spark.master"]

    assert given("yarn", "yarn") == "yarn"
    assert given("local[4]", "local[2]") == "local[2]"
    for words, level in (("yarn", "local[2]"), ("local[4]", "yarn"), ("spark://a", "spark://b")):
        with pytest.raises(UsageError, match="the command itself names the master"):
            given(words, level)


def test_a_worker_has_room_for_the_executor_that_the_job_asks_for():
    treatment = {"layout.executors": 2, "layout.cores_per_executor": 1}
    layout = resolve_layout(treatment)

    def master(words, variable="", **more):
        levels = {**treatment, **more}
        environ = {"PATH": "", "SPARK_EXECUTOR_MEMORY": variable}
        layout, command = resolve_layout(levels), understand(words)
        found = apply_treatment(levels, layout, command, environ=environ)
        return found.force["spark.master"]

    assert layout.master == "local-cluster[2,1,1024]"
    large = ["spark-submit", "--conf", "spark.executor.memory=4g", "a.py"]
    assert master(large) == "local-cluster[2,1,4096]"
    assert master(["spark-submit", "--executor-memory", "512", "a.py"]) == layout.master
    assert master(large, **{"spark.executor.memory": "3g"}) == "local-cluster[2,1,3072]"
    assert master(["python", "a.py"], "2g") == "local-cluster[2,1,2048]"
    # A heap of the layout's own is the executor's memory, too.
    assert master(large, **{"jvm.heap": 2 << 30}) == "local-cluster[2,1,2048]"
