"""Pieces of a run on invented machines and files: launch, record, ending, doctor, card."""

from __future__ import annotations

import json
import math
import os
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrometer.collect.doctor import examine, java, kernel
from pyrometer.collect.host import card, facts
from pyrometer.collect.launch import environment, finish, launch, record
from pyrometer.collect.launch.java import new_enough, require_java
from pyrometer.collect.launch.launch import Launch
from pyrometer.collect.launch.process import Ending
from pyrometer.collect.launch.record import make_run_dir, new_manifest
from pyrometer.collect.launch.session_settings import overruled
from pyrometer.collect.launch.treatment import Applied
from pyrometer.collect.probes.base import Needs, Probe, Problem, check_all, merge_needs
from pyrometer.collect.probes.plugin import read_last, records
from pyrometer.collect.probes.profile import parse_profile
from pyrometer.collect.probes.selection import make_probes
from pyrometer.collect.probes.stacks import StacksProbe
from pyrometer.core.errors import CapabilityError, CommandNotFoundError, UsageError
from pyrometer.core.patience import VARIABLE
from pyrometer.store.manifest import Overlay
from pyrometer.store.paths import RunPaths
from pyrometer.trial.layout import resolve_layout
from pyrometer.trial.trial import Trial


@pytest.fixture
def paths(tmp_path: Path) -> RunPaths:
    found = RunPaths(tmp_path / "run")
    found.eventlog.mkdir(parents=True)
    return found


def kept(paths: RunPaths) -> record.Record:
    trial = Trial(command=("x",))
    return record.Record(paths, new_manifest(trial, card.this_host(), [], []))


def plugin_file(paths: RunPaths, *lines: dict[str, Any] | str) -> None:
    texts = [x if isinstance(x, str) else json.dumps(x, separators=(",", ":")) for x in lines]
    (paths.raw / "plugin-driver-driver-7.ndjson").write_text("\n".join(texts))


def test_a_context_that_speaks_twice_is_one_process(paths: RunPaths) -> None:
    plugin_file(
        paths,
        {"k": "process", "pid": 7, "app_id": None, "mono_ns": 1},
        {"k": "mx", "values": {}},
        {"k": "process", "pid": 7, "app_id": "a", "mono_ns": 2},
        {"k": "process", "pid": 7, "app_id": "b", "mono_ns": 3},
        '{"k":"process","pid":7,"app_id":"c","mono',
    )
    assert [p["app_id"] for p in record.processes(paths)] == ["a", "b"]
    plugin_file(paths, {"k": "process", "pid": 7, "app_id": None, "mono_ns": 1})
    assert len(record.processes(paths)) == 1


def test_the_last_record_is_found_behind_a_cut_line(paths: RunPaths) -> None:
    plugin_file(paths, {"k": "bye", "written": 1}, {"k": "bye", "written": 2}, '{"k":"bye","writ')
    file = paths.plugin_files()[0]
    assert read_last(file, "bye") == {"k": "bye", "written": 2}
    assert read_last(file, "clock") is None
    assert read_last(paths.raw / "nothing", "bye") is None


@given(st.binary(max_size=200))
def test_any_bytes_in_a_plugin_file_are_passed_over(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes
) -> None:
    file = tmp_path_factory.mktemp("p") / "plugin-driver-driver-1.ndjson"
    file.write_bytes(b'{"k":"bye","written":3}\n' + noise + b'\n{"k":"bye"')
    assert {"k": "bye", "written": 3} in list(records(file, "bye"))


def test_iterations_that_did_not_end_are_interrupted(paths: RunPaths) -> None:
    paths.iterations.write_text(
        '{"k":"start","iteration":0,"warmup":true}\n'
        '{"k":"end","iteration":0,"warmup":true,"status":"ok","rows":3,"checksum":"x"}\n'
        '{"k":"start","iteration":1,"warmup":false}\n'
        '{"k":"end","iter'
    )
    found = record.results(paths.iterations)
    assert [(r.iteration, r.warmup, r.status, r.rows) for r in found] == [
        (0, True, "ok", 3),
        (1, False, "interrupted", None),
    ]


def test_parts_of_a_suite_come_with_their_times(paths: RunPaths) -> None:
    part = '{"name":"q05","rows":3,"checksum":"x","started_mono_ns":10,"ended_mono_ns":20}'
    paths.iterations.write_text(
        f'{{"k":"end","iteration":0,"status":"ok","rows":3,"checksum":"y","parts":[{part}]}}\n'
    )
    ((found,),) = (result.parts for result in record.results(paths.iterations))
    assert (found.name, found.started_mono_ns, found.ended_mono_ns) == ("q05", 10, 20)


def test_logs_in_the_users_folder_are_copied_by_application(
    paths: RunPaths, tmp_path: Path
) -> None:
    theirs = tmp_path / "their logs"
    (theirs / "eventlog_v2_app-2").mkdir(parents=True)
    (theirs / "eventlog_v2_app-2" / "events_1_app-2.zstd").write_text("2")
    for name in ("app-1.zstd", "app-3"):
        (theirs / name).write_text(name)
    kept_user = Overlay(key="spark.eventLog.dir", value=theirs.as_uri(), how="kept_user")
    run = kept(paths)
    record.copy_eventlogs(run, [kept_user], ["app-1", "app-2"])
    assert [log.name for log in paths.eventlogs()] == ["app-1.zstd", "eventlog_v2_app-2"]
    assert not run.manifest.doubts
    record.copy_eventlogs(run, [kept_user], ["app-9"])
    far = Overlay(key="spark.eventLog.dir", value="hdfs://x/logs", how="kept_user")
    record.copy_eventlogs(run, [far], ["app-1"])
    assert [d.code for d in run.manifest.doubts] == ["eventlog_elsewhere"] * 2


def test_a_run_directory_must_be_new_or_empty(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert make_run_dir(Trial(command=("x",), run_dir=tmp_path / "empty")).raw.is_dir()
    with pytest.raises(UsageError, match="not an empty folder"):
        make_run_dir(Trial(command=("x",), run_dir=tmp_path / "empty"))
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be written"):
        make_run_dir(Trial(command=("x",), run_dir=tmp_path / "file" / "below"))


ENDED = Ending(code=0, signal=None, interrupted_by=None, mono_ns=1, wall_ns=1)


def ended(**more: Any) -> Ending:
    return Ending(**{**vars(ENDED), **more})


@pytest.mark.parametrize(
    ("ending", "state", "words"),
    [
        (ENDED, "finished", None),
        (ended(code=1), "failed", None),
        (ended(code=3), "failed", "OutOfMemoryError"),
        (ended(code=127), "failed", "did not find a command"),
        (ended(code=None, signal="SIGKILL"), "failed", "memory"),
        (ended(code=None, signal="SIGSEGV"), "failed", "hs_err"),
        (ended(code=None, signal="SIGPIPE"), "failed", "SIGPIPE"),
        (ended(code=0, interrupted_by="SIGTERM"), "interrupted", "SIGTERM"),
    ],
)
def test_how_an_application_ended_is_said(ending: Ending, state: str, words: str | None) -> None:
    launched = Launch(argv=("java", "-XX:+ExitOnOutOfMemoryError"), env={}, agent={}, kind="java")
    assert finish.state(ending) == state
    reason = finish.reason(ending, launched, spark_seen=True)
    assert (reason is None) == (words is None)
    assert words is None or words in str(reason)


@pytest.mark.parametrize(
    ("treatment", "driver", "right"),
    [
        ({"jvm.heap": 1 << 30}, {"max_heap_bytes": 1 << 30}, True),
        ({"jvm.heap": 1 << 30}, {"max_heap_bytes": 7 << 27}, True),
        ({"jvm.heap": 1 << 30}, {"max_heap_bytes": 1 << 29}, False),
        ({"jvm.heap": 1 << 30}, {"max_heap_bytes": None}, True),
        ({"jvm.gc": "z"}, {"gc_names": ["ZGC Cycles", "ZGC Pauses"]}, True),
        ({"jvm.gc": "z"}, {"gc_names": ["G1 Young Generation"]}, False),
        ({"layout.tasks": 2}, {"master": "local[2]"}, True),
        ({"layout.tasks": 2}, {"master": "local[*]"}, False),
    ],
)
def test_levels_are_held_against_what_the_jvm_says(
    treatment: dict[str, Any], driver: dict[str, Any], right: bool
) -> None:
    assert (finish.misapplied(treatment, resolve_layout(treatment), [driver]) == []) == right


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (["200", "200", None], "47, but the program sets 200 in 2 of 3 SQL executions."),
        # It set the level aside for a while; a level that it sets itself holds.
        (["200", None, None], None),
        (["47", "47", "47"], None),
    ],
)
def test_a_setting_that_the_program_changes_in_its_session_is_no_level(
    tmp_path: Path, changed: list[str | None], told: str | None
) -> None:
    name, event = "spark.sql.shuffle.partitions", "SparkListenerSQLExecutionStart"
    log = tmp_path / "eventlog_v2_local-1" / "events_1_local-1"
    log.parent.mkdir()
    lines = [
        json.dumps({"Event": f"org.apache.spark.sql.execution.ui.{event}", "sparkPlanInfo": "plan",
                    "modifiedConfigs": one, "jobTags": []}, separators=(",", ":"))
        for one in ({} if value is None else {name: value} for value in changed)
    ]  # fmt: skip
    deep = '{"children":[' * 2_000 + "]}" * 2_000
    lines = [one.replace('"plan"', deep) for one in lines]
    log.write_text("\n".join([*lines, '{"Event":"SparkListenerJobStart"}', '{"Ev']))
    found = overruled({name: 47, "jvm.gc": "z"}, [log.parent])
    assert found == ([] if told is None else [f"{name}={told}"])


def test_a_driver_on_another_java_than_was_asked_for_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "release").write_text('JAVA_VERSION="17.0.15"\n')
    treatment, layout = {"jvm.home": str(tmp_path)}, resolve_layout({})
    assert finish.misapplied(treatment, layout, [{"java_version": "17.0.15-ea"}]) == []
    (told,) = finish.misapplied(treatment, layout, [{"java_version": "11.0.2"}])
    assert told == f"jvm.home={tmp_path} is Java 17.0.15, but the driver's is 11.0.2."
    monkeypatch.setenv("HOME", str(tmp_path.parent))
    treatment["jvm.home"] = f"~/{tmp_path.name}"
    assert finish.misapplied(treatment, layout, [{"java_version": "17.0.15"}]) == []
    assert len(finish.misapplied(treatment, layout, [{"java_version": "11.0.2"}])) == 1


def test_agent_properties_hold_probes_and_treatment() -> None:
    needs = Needs(executor_options=("-Da=1",), agent={"raw.dir": "/r", "conf.spark.x": "1"})
    keys = environment.agent_keys(needs, Applied(("-XX:+UseZGC",), (), (), {"spark.x": "2"}, {}))
    assert keys == {
        "raw.dir": "/r",
        "conf.spark.x": "1",
        "append.spark.executor.extraJavaOptions": "-Da=1 -XX:+UseZGC",
        "force.spark.x": "2",
    }


def test_spark_waits_longer_where_the_processor_is_emulated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = Applied((), (), (), {}, {})
    assert environment.agent_keys(Needs(), asked) == {}
    monkeypatch.setenv(VARIABLE, "20")
    assert environment.agent_keys(Needs(), asked) == {"conf.spark.network.timeout": "2400s"}


def unescape(value: str) -> str:
    """Read a value as ``java.util.Properties`` does."""
    out, chars = [], iter(value.lstrip(" \t\f"))
    for char in chars:
        if char == "\\":
            following = next(chars)
            out.append({"n": "\n", "r": "\r", "t": "\t", "f": "\f"}.get(following, following))
        else:
            out.append(char)
    return "".join(out)


@given(st.text(st.characters(codec="utf-8")))
def test_java_reads_back_the_properties_we_write(value: str) -> None:
    text = environment.properties_text({"force.spark.x": value})
    assert text.endswith("\n")
    assert not set(text[:-1]) & {"\n", "\r"}
    assert unescape(text[:-1].removeprefix("force.spark.x=")) == value


def test_a_setting_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^spark\.y: its value is not UTF-8"):
        environment.properties_text({"force.spark.x": "é\nx", "force.spark.y": "caf\udce9"})


@pytest.mark.parametrize(
    ("version", "fits"), [("1.8.0_392", False), ("11.0.2", True), ("25", True)]
)
def test_a_java_too_old_for_workloads_is_refused(version: str, fits: bool, tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    (tmp_path / "release").write_text(f'IMPLEMENTOR="X"\nJAVA_VERSION="{version}"\n')
    found = require_java({"JAVA_HOME": str(tmp_path)})
    assert found == str(java)
    if fits:
        assert new_enough(found) == found
    else:
        with pytest.raises(CapabilityError, match="Java 8: Pyrometer needs 11"):
            new_enough(found)


def test_pyspark_arguments_stay_behind_ours() -> None:
    env = {"PYSPARK_SUBMIT_ARGS": "--jars x.jar pyspark-shell"}
    environment.prepend_pyspark_arguments(env, ("--conf", "a=b c"))
    assert env["PYSPARK_SUBMIT_ARGS"] == "--conf 'a=b c' --jars x.jar pyspark-shell"


def test_spark_that_is_nowhere_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "pip_spark", list)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.delenv("PYROMETER_RUN_DIR", raising=False)
    trial = Trial(command=("spark-submit", "app.py"))
    with pytest.raises(CommandNotFoundError, match="spark-submit was not found") as caught:
        launch.launch_command(trial, Needs(), RunPaths(tmp_path))
    assert "pip install" in str(caught.value.remedy)


@pytest.mark.parametrize("captured", [False, True])
def test_a_command_keeps_the_terminal_unless_it_is_a_trial(tmp_path: Path, captured: bool) -> None:
    trial, paths = Trial(command=("true",), captured=captured), RunPaths(tmp_path)
    found = launch.launch_command(trial, Needs(), paths)
    kept = (paths.stdout, paths.stderr) if captured else (None, None)
    assert (found.stdout, found.stderr) == kept


class Broken(Probe):
    """Has one problem."""

    def __init__(self, name: str) -> None:
        self.name = name

    def check(self) -> list[Problem]:
        return [Problem(self.name, f"{self.name} is missing", f"install {self.name}")]


def test_all_problems_are_reported_at_once() -> None:
    from pyrometer.collect.probes.selection import require

    probes = [Broken("one"), Probe(), Broken("two")]
    assert len(check_all(probes)) == 2
    with pytest.raises(CapabilityError) as caught:
        require(probes)
    assert caught.value.message.splitlines() == [
        "probe one: one is missing",
        "probe two: two is missing",
    ]
    assert caught.value.remedy == "install one; install two"


@pytest.mark.parametrize("profile", ["off", "light", "full", "cpu,lock"])
def test_every_profile_prints_what_it_asks_for(profile: str, paths: RunPaths) -> None:
    probes = make_probes(parse_profile(profile))
    needs = merge_needs(probes, paths)
    assert probes
    assert all(probe.asked() for probe in probes)
    assert needs.agent["force.spark.eventLog.enabled"] == "true"
    assert needs.agent["plugin"] == ("off" if profile == "off" else "on")
    assert ("asprof.command" in needs.agent) == (profile in ("full", "cpu,lock"))
    assert ("codegen.interval.ms" in needs.agent) == ("asprof.command" in needs.agent)
    assert any(option.startswith("-javaagent:") for option in needs.jvm_options)


def test_the_profilers_arguments() -> None:
    full = StacksProbe(parse_profile("full").stack_events).command()
    assert full == (
        "start,event=cpu,interval=10ms,wall=50ms,alloc=8m,lock=10ms,clock=monotonic,chunktime=10s"
        ",jfropts=3"
    )
    assert (
        StacksProbe({"wall": "50ms"}).command() == "start,wall=50ms,clock=monotonic,chunktime=10s"
        ",jfropts=3"
    )
    live = StacksProbe(parse_profile("cpu,live=512k,nativemem").stack_events).command()
    assert live.startswith("start,event=cpu,interval=10ms,live,")
    assert {"alloc=512k", "nativemem=512k"} <= set(live.split(","))
    with pytest.raises(UsageError, match="of one period"):
        parse_profile("alloc=8m,live=512k")


def test_generated_sources_and_their_losses_are_told(paths: RunPaths) -> None:
    probe = StacksProbe({"cpu": "10ms"})
    paths.raw.mkdir(exist_ok=True)
    paths.codegen.mkdir()
    (paths.raw / "profile-driver-1.jfr").write_bytes(b"FLR")
    source = '{"k":"source","n":0,"body":"\\"k\\":\\"drop\\"","comments":{}}\n'
    one = paths.codegen / "codegen-driver-driver-1.ndjson"
    one.write_text(source + source + '{"k":"bye","written":2,"dropped":0}\n')
    entry = probe.report(paths)
    assert (entry.got, entry.dropped) == ("1 recording(s), 2 generated source(s)", 0)
    assert entry.reason is None
    # Counts are cumulative within a file; this JVM was killed while it wrote.
    other = paths.codegen / "codegen-executor-1-2.ndjson"
    other.write_text(
        '{"k":"drop","kind":"evicted","count":1}\n'
        '{"k":"error","where":"codegen_entry","message":"no"}\n'
        '{"k":"drop","kind":"evicted","count":3}\n' + source + source[:20]
    )
    entry = probe.report(paths)
    assert (entry.got, entry.dropped) == ("1 recording(s), 3 generated source(s)", 3)
    assert entry.reason == (
        "generated code: 3 left Spark's cache before they were seen; "
        "generated code: codegen_entry: no"
    )


def test_machines_are_read_from_their_texts() -> None:
    arm = "processor : 0\nCPU implementer : 0x41\nCPU part : 0xd40\n"
    assert facts.parse_cpu_model(arm) == "ARM implementer 0x41 part 0xd40"
    assert facts.parse_cpu_model("") is None
    assert facts.parse_virtualised("flags : fpu sse", "X") is None
    assert facts.parse_virtualised("flags : hypervisor", "") == "yes, product unknown"


@given(st.text())
def test_any_proc_text_is_read(text: str) -> None:
    facts.parse_cpu_model(text)
    facts.parse_virtualised(text, text)
    assert all(size >= 0 for size in facts.parse_meminfo(text).values())


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "21" 2023-09-19', 21),
        ('openjdk version "17.0.15" 2025', 17),
        ('java version "1.8.0_392"', 8),
        ("nonsense", None),
    ],
)
def test_versions_of_java(text: str, version: int | None) -> None:
    assert java.java_version(text) == version


def test_a_missing_java_is_a_finding_with_the_command(tmp_path: Path) -> None:
    for env in ({"PATH": str(tmp_path)}, {"JAVA_HOME": str(tmp_path), "PATH": os.defpath}):
        found, finding = java.find_java(env)
        assert (found, finding.available) == (None, False)
        assert "openjdk" in str(finding.remedy)
    assert not any(finding.available for finding in java.jvm_probes(None))


def test_a_folder_that_cannot_be_written_is_a_finding() -> None:
    assert not examine.disk(Path("/proc/x")).available


@given(st.lists(st.floats(1, 1e9), min_size=3, max_size=40))
def test_the_median_lies_in_its_interval(values: list[float]) -> None:
    made = card.median(values)
    assert made.value is not None
    assert min(values) <= made.value <= max(values)
    if made.low is not None and made.high is not None:
        assert made.low <= made.value <= made.high
    assert (made.low is None) == (len(values) < 6)


def test_the_medians_interval_covers_as_often_as_it_says() -> None:
    random_ = random.Random(7)
    covered = 0
    for _ in range(2000):
        made = card.median([random_.lognormvariate(0, 1) for _ in range(15)])
        assert made.low is not None
        assert made.high is not None
        covered += made.low <= 1.0 <= made.high
    # Order statistics of 15 give 96.5 %; 2000 draws put 4 standard errors at 1.6 %.
    assert 0.95 < covered / 2000 < 0.982


def test_the_smallest_effect_is_found_as_often_as_it_says() -> None:
    from scipy.stats import ttest_rel

    random_ = random.Random(11)
    sd, pairs = 0.08, 12
    effect = math.log1p(card.smallest_effect(sd, pairs))
    found = 0
    for _ in range(1000):
        a = [random_.gauss(0, sd) for _ in range(pairs)]
        b = [random_.gauss(effect, sd) for _ in range(pairs)]
        found += ttest_rel(a, b).pvalue < 0.05
    assert 0.75 < found / 1000 < 0.87


def test_a_card_is_attached_only_to_its_own_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    this = card.this_host()
    assert this.card is None
    estimate = card.median([1.0, 2.0, 3.0])
    made = card.Card(
        measured_wall_ns=1, hostname=this.hostname, cpu_model=this.cpu_model,
        cpus_count=this.cpus_count, threads_per_core=1, numa_nodes_count=None,
        memory_bytes=this.memory_bytes, copy_bytes_per_s=estimate,
        triad_bytes_per_s=estimate, latency_ns=estimate, disk_write_bytes_per_s=None,
        disk_read_bytes_per_s=None, steal_ratio=None, alu_sd=0.1, copy_sd=0.1,
        smallest_effect={"5": 0.3},
    )  # fmt: skip
    card.keep(made)
    found = card.this_host().card
    assert found is not None
    assert found["smallest_effect"] == {"5": 0.3}
    memory = this.memory_bytes or 0
    for changed in (
        {"hostname": "another"}, {"cpus_count": 4096}, {"memory_bytes": memory * 2},
    ):  # fmt: skip
        assert card.kept(this.model_copy(update=changed)) is None
    assert card.kept(this.model_copy(update={"memory_bytes": int(memory * 1.01)})) is not None
    card.keep(made.model_copy(update={"numa_nodes_count": 4096}))
    # Where the kernel shows no nodes, they say nothing.
    monkeypatch.setattr(card, "_nodes", lambda: 1)
    assert card.kept(this) is None
    card.card_file().write_text("{")
    assert card.this_host().card is None


@pytest.mark.parametrize("how", ["none", "scheme", "off", "module"])
def test_doctor_tells_who_drops_pages_on_its_own(tmp_path: Path, how: str) -> None:
    daemon = tmp_path / "kernel/mm/damon/admin/kdamonds/0"
    scheme = daemon / "contexts/0/schemes/0"
    if how in ("scheme", "off"):
        scheme.mkdir(parents=True)
        (scheme / "action").write_text("pageout\n")
        (daemon / "state").write_text("on\n" if how == "scheme" else "off\n")
    if how == "module":
        module = tmp_path / "module/damon_reclaim/parameters"
        module.mkdir(parents=True)
        (module / "enabled").write_text("Y\n")
    found = kernel.page_cache(tmp_path)
    assert found.available == (how in ("none", "off"))
    if not found.available:
        assert "warm files do not stay" in found.reason
        assert str(tmp_path) in (found.remedy or "")


CRASH = """\
#
# A fatal error has been detected by the Java Runtime Environment:
[thread 297 also had an error]
#
#  SIGSEGV (0xb) at pc=0x00007fd0ca400540, pid=191, tid=295
#
# JRE version: OpenJDK Runtime Environment (17.0.15+6) (build 17.0.15+6-Debian-1deb12u1)
# Problematic frame:
# J 10122 c1 org.apache.spark.util.collection.OpenHashSet$mcI$sp.addWithoutResize$mcI$sp(I)I
#
"""


def test_a_jvm_that_crashed_below_python_is_the_reason_and_not_what_python_missed() -> None:
    """What a driver on an emulated processor printed; its Python saw a refused connection."""
    assert finish.crashed(CRASH) == (
        "a JVM crashed: SIGSEGV in J 10122 c1"
        " org.apache.spark.util.collection.OpenHashSet$mcI$sp.addWithoutResize$mcI$sp(I)I;"
        " it leaves hs_err_pid191.log where it was started"
    )
    assert finish.crashed("# SIGNAL is a word, pid=1 too\n") is None
    assert finish.crashed("") is None
