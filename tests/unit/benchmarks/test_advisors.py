"""How findings and rules of advisors are read and laid side by side."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.advisors.causes import (
    FAMILIES,
    NVIDIA,
    OURS,
    SPARK_ADVISOR,
    Fired,
    cause_of,
)
from benchmarks.advisors.compare import Ours, Row, findings_of, totals
from benchmarks.advisors.limits import limit
from benchmarks.advisors.run import nvidia_rules, one_file, spark_advisor_rules
from benchmarks.advisors.table import by_cause, by_log
from tests.support.explain.explained import Job
from tests.support.tables import MS

from pyrometer.accounts.window import open_scope
from pyrometer.explain.every_rule import every_rule
from pyrometer.explain.facts import Facts
from pyrometer.store import Run
from pyrometer.summary.summary import summarise

ADVICE = """### D. Recommended Configuration ###

Spark Properties:
--conf spark.rapids.sql.enabled=true
--conf spark.sql.files.maxPartitionBytes=1g

Comments:
- 'spark.executor.instances' was not set.
- Average JVM GC time is very high. Other Garbage Collectors can be used for better performance.
- Shuffle partitions should be increased since spilling occurred in shuffle stages.
"""


def ours(code: str, stage: int | None = None, shown: bool = True) -> Ours:
    return Ours(code, stage, 2e9, 1e9, 3e9, shown)


def test_every_cause_of_ours_names_rules_that_exist() -> None:
    codes = [rule.code for rule in every_rule()]
    for names in FAMILIES.values():
        for name in names:
            assert any(c.startswith(name) if name.endswith(".") else c == name for c in codes), name


def test_rules_about_one_cause_meet() -> None:
    assert cause_of(OURS, "straggler.tail") == cause_of(SPARK_ADVISOR, "data_skew") == "skew"
    assert cause_of(NVIDIA, "JVM GC time") == cause_of(OURS, "gc.heap-too-small") == "GC"
    assert cause_of(NVIDIA, "something new") == "something new"


def test_stages_of_a_rule_are_gathered_and_a_hint_is_one_only_if_all_are() -> None:
    results: list[dict[str, object]] = [
        {"rule_id": "spill_to_disk", "severity": "INFO", "stage_id": 4},
        {"rule_id": "spill_to_disk", "severity": "WARNING", "stage_id": 2},
        {"rule_id": "serializer_choice", "severity": "INFO", "stage_id": None},
    ]
    assert spark_advisor_rules(results) == [
        Fired(SPARK_ADVISOR, "spill_to_disk", (2, 4), hint=False),
        Fired(SPARK_ADVISOR, "serializer_choice", (), hint=True),
    ]


def written(folder: Path, advice: str = ADVICE, failed: str = "") -> Path:
    app = folder / "profile/rapids_4_spark_profile/app-1"
    app.mkdir(parents=True)
    (app / "profile.log").write_text("### C. Health Check###\n")
    if failed:
        (app / "failed_tasks.csv").write_text(failed)
    tuning = folder / "qualify/qual_core_output/tuning"
    tuning.mkdir(parents=True)
    (tuning / "app-1.log").write_text(advice)
    return folder


def test_what_nvidias_tools_say_of_the_job_is_kept_apart_from_what_a_gpu_needs(
    tmp_path: Path,
) -> None:
    said = nvidia_rules(written(tmp_path, failed='stageId,why\n7,"lost, again"\n7,x\n3,y\n'))
    assert {one.rule: one.stages for one in said.fired} == {
        "JVM GC time": (),
        "spill in shuffle": (),
        "maxPartitionBytes": (),
        "failed tasks": (3, 7),
    }
    assert said.settings_count == 1


def test_constants_for_a_gpu_are_no_rule_about_the_job(tmp_path: Path) -> None:
    advice = "--conf spark.locality.wait=0\n\nComments:\n- 'spark.locality.wait' was not set.\n"
    said = nvidia_rules(written(tmp_path, advice))
    assert said.fired == []
    assert said.settings_count == 1


def test_a_log_that_nvidias_tools_skip_says_why(tmp_path: Path) -> None:
    (tmp_path / "qualify").mkdir()
    (tmp_path / "qualify/status.csv").write_text('"a","UNKNOWN","JsonParseException: bad, x"')
    assert nvidia_rules(tmp_path).failed == "JsonParseException: bad"


def test_a_rolling_log_becomes_one_file_in_the_order_of_its_parts(tmp_path: Path) -> None:
    log = tmp_path / "eventlog_v2_app"
    log.mkdir()
    for part in (10, 2, 1):
        (log / f"events_{part}_app").write_text(f"{part}\n")
    assert one_file(log, tmp_path / "plain").read_text() == "1\n2\n10\n"


def test_who_agrees_and_who_does_not() -> None:
    skew = Fired(SPARK_ADVISOR, "data_skew", (3,))
    spill = Fired(SPARK_ADVISOR, "spill_to_disk", (3,))
    serializer = Fired(SPARK_ADVISOR, "serializer_choice", (), hint=True)
    row = Row("log", 10, 10e9, 0.05)
    row.findings = [ours("skew.rows", 3), ours("spill.sort-and-aggregate", 3, shown=False),
                    ours("driver.commit")]  # fmt: skip
    row.fired = [skew, spill, serializer, Fired(NVIDIA, "spill in shuffle")]
    row.limits = {skew: 1e9, spill: 1e8, serializer: None}
    assert row.agreed() == {"skew"}
    assert row.small() == {"spill"}
    assert row.only_they() == {"serializer"}
    assert row.only_we() == {"driver.commit"}
    assert row.both() == {"spill"}
    by_name = {one.cause: one for one in totals([row])}
    assert (by_name["spill"].spark_advisor, by_name["spill"].nvidia) == (1, 1)
    assert by_name["serializer"].only_they == 1
    text = by_log([row])
    assert "data_skew (3) 1.00 s" in text
    assert "serializer_choice* –" in text
    assert "| **all** | **2** |" in by_cause(totals([row]))


def test_the_largest_saving_is_of_those_that_only_they_name() -> None:
    skew = Fired(SPARK_ADVISOR, "data_skew", (3,))
    rows = [
        Row("a", 1, 10e9, fired=[skew], limits={skew: 1e9}),
        Row("b", 1, 10e9, fired=[skew], limits={skew: 5e9}, findings=[ours("skew.time")]),
    ]
    (one,) = totals(rows)
    assert (one.only_they, one.agreed) == (1, 1)
    assert one.largest_ratio == pytest.approx(0.1)


def test_symptoms_count_as_seen() -> None:
    saving = {"value": 2e9, "low": 1e9, "high": 3e9}
    place = {"stage_id": 3}
    symptom = {"code": "spill.sort-and-aggregate", "place": place, "elapsed_ns": saving}
    report = {
        "findings": [
            {"code": "skew.rows", "place": place, "saving": {"elapsed_ns": saving}, "shown": True,
             "symptoms": [symptom]}
        ]
    }  # fmt: skip
    found = findings_of(report)
    assert [(one.code, one.shown) for one in found] == [
        ("skew.rows", True),
        ("spill.sort-and-aggregate", False),
    ]


def limits(job: Job, folder: Path, *asked: Fired) -> list[float | None]:
    """Write the run, and give the seconds that the simulator gives for rules."""
    job.log.rows["apps"][0]["end_wall_ns"] = job.log.rows["stages"][-1]["complete_wall_ns"]
    with Run.open(job.log.write(folder)) as run:
        scope = open_scope(run, None)
        facts = Facts(scope, summarise(scope), None)
        found = [limit(facts, one) for one in asked]
    return [None if ns is None else ns / 1e9 for ns in found]


def test_without_its_long_task_a_stage_ends_with_the_others(tmp_path: Path) -> None:
    job = Job(executors=1, cores=4)
    job.stage([1000, 1000, 1000, 5000])
    job.stage([2000] * 4)
    skew = [Fired(SPARK_ADVISOR, "data_skew", stages) for stages in ((0,), (1,), ())]
    assert limits(job, tmp_path, *skew) == [
        pytest.approx(4.0, rel=0.05), pytest.approx(0.0, abs=0.05), pytest.approx(4.0, rel=0.05)
    ]  # fmt: skip


def test_skew_off_the_critical_path_saves_nothing(tmp_path: Path) -> None:
    job = Job(executors=1, cores=1)
    job.stage([1000, 1000, 1000, 5000])
    even = Job(executors=1, cores=4)
    even.stage([3000, 500, 500, 500, 500, 500, 500, 500, 500, 500, 500, 500, 500])
    (alone,) = limits(job, tmp_path / "a", Fired(SPARK_ADVISOR, "data_skew", (0,)))
    (hidden,) = limits(even, tmp_path / "b", Fired(SPARK_ADVISOR, "data_skew", (0,)))
    assert alone == pytest.approx(4.0, rel=0.05)
    assert hidden is not None
    assert hidden < 1.5  # ratio 6 to the median, and other tasks fill the slots meanwhile


def test_gc_overhead_and_spill_are_taken_from_the_tasks_that_had_them(tmp_path: Path) -> None:
    def columns(index: int) -> dict[str, int]:
        return {
            "jvm_gc_time_ns": 400 * MS, "executor_run_time_ns": 1700 * MS,
            "executor_cpu_time_ns": 800 * MS, "disk_spilled_bytes": (index % 2) << 30,
        }  # fmt: skip

    job = Job(executors=1, cores=2)
    job.stage([2000] * 8, columns=columns)
    found = limits(
        job, tmp_path, Fired(SPARK_ADVISOR, "gc_pressure"), Fired(NVIDIA, "maxPartitionBytes"),
        Fired(SPARK_ADVISOR, "spill_to_disk"), Fired(SPARK_ADVISOR, "serializer_choice"),
    )  # fmt: skip
    assert found[:2] == [pytest.approx(1.6, rel=0.05), pytest.approx(1.2, rel=0.05)]
    assert found[2] == pytest.approx(4 * 0.8 / 2, abs=0.45)  # half of the tasks, one at a time
    assert found[3] is None


def test_failed_attempts_are_what_failures_cost(tmp_path: Path) -> None:
    def columns(index: int) -> dict[str, object]:
        again: dict[str, object] = {"task_index": index % 4}
        return {**again, "status": "failed"} if index < 2 else again

    job = Job(executors=1, cores=2)
    job.stage([1000, 1000, 500, 500, 500, 500], columns=columns)
    job.log.rows["stages"][0]["planned_tasks_count"] = 4
    (found,) = limits(job, tmp_path, Fired(SPARK_ADVISOR, "task_failures", (0,)))
    assert found == pytest.approx(1.0, rel=0.1)


def test_of_a_stage_that_never_ended_no_seconds_are_given(tmp_path: Path) -> None:
    job = Job(executors=1, cores=2)
    job.stage([1000, 3000])
    assert limits(job, tmp_path, Fired(SPARK_ADVISOR, "data_skew", (7,))) == [None]


def test_where_nothing_can_be_scheduled_no_seconds_are_given(tmp_path: Path) -> None:
    job = Job(executors=1, cores=1)
    job.log.rows["apps"][0]["end_wall_ns"] += 1000 * MS
    with Run.open(job.log.write(tmp_path)) as run:
        scope = open_scope(run, None)
        facts = Facts(scope, summarise(scope), None)
        assert limit(facts, Fired(SPARK_ADVISOR, "data_skew", (0,))) is None
