"""Spills, and attempts that died for want of memory, in an event log alone."""

from pathlib import Path

import pytest
from tests.support.explain.causes import holds, log, shown
from tests.support.explain.explained import Job
from tests.support.explain.planted import holds as planted_holds
from tests.support.explain.planted import job, judged, only, samples, stack
from tests.support.tables import World

from pyrometer.explain.catalogue.memory.heap_container_limit import RULE as CONTAINER
from pyrometer.explain.catalogue.memory.retries_out_of_memory import RULE as OOM
from pyrometer.explain.catalogue.memory.spill_sort_and_aggregate import RULE as SPILL
from pyrometer.explain.rule import Rule

MIB = 1 << 20
READ = {"shuffle_read_local_bytes": 100 * MIB}
SPILLED = {**READ, "disk_spilled_bytes": 50 * MIB, "memory_spilled_bytes": 200 * MIB}


def test_tasks_that_spilled_beside_tasks_that_did_not(tmp_path: Path) -> None:
    # For the same bytes 2 s instead of 1 s, in half of eight tasks: 2 s less on two slots.
    tasks = [{"ms": 2000, **SPILLED} for _ in range(4)] + [{"ms": 1000, **READ} for _ in range(4)]
    (finding,) = shown(log(tasks).write(tmp_path), SPILL)
    assert holds(finding, 1.7)
    assert finding.place.stage_id == 0


def test_all_tasks_spilled(tmp_path: Path) -> None:
    # 50 MiB at the run's own 100 MiB/s, written and read: 1 s of each of eight tasks of 3 s.
    wrote = {"shuffle_written_bytes": 20 * MIB, "shuffle_write_time_ns": 200_000_000}
    tasks = [{"ms": 3000, **SPILLED, **wrote} for _ in range(8)]
    (finding,) = shown(log(tasks).write(tmp_path), SPILL)
    assert holds(finding, 4.0)


def test_seven_stages_count(tmp_path: Path) -> None:
    wrote = {"shuffle_written_bytes": 20 * MIB, "shuffle_write_time_ns": 200_000_000}
    run = Job()
    for _ in range(7):
        run.stage([3000] * 4, columns=lambda _: {**SPILLED, **wrote})
    assert sum(one.place.places_count for one in run.found(tmp_path, SPILL)) == 7


def test_spill_that_cost_nothing(tmp_path: Path) -> None:
    # Near miss: tasks that spilled ran no longer for their bytes than the others.
    tasks = [{"ms": 1000, **one} for one in (SPILLED, READ) for _ in range(4)]
    assert not shown(log(tasks).write(tmp_path), SPILL)


def test_no_spill(tmp_path: Path) -> None:
    tasks = [{"ms": 1000, **READ} for _ in range(8)]
    assert not judged(log(tasks).write(tmp_path), SPILL).findings


LOST = [
    (OOM, "java.lang.OutOfMemoryError: Java heap space", "spark.executor.memory"),
    (
        CONTAINER,
        "Container killed by YARN for exceeding memory limits. 5.5 GB of 5 GB used",
        "spark.executor.memoryOverhead",
    ),
]


@pytest.mark.parametrize(("rule", "error", "setting"), LOST, ids=["heap", "container"])
def test_attempts_lost_to_memory(tmp_path: Path, rule: Rule, error: str, setting: str) -> None:
    # Two attempts of 2 s are lost, one on each slot: the run is 2 s longer.
    lost = {"ms": 2000, "status": "failed", "error": error}
    tasks = [dict(lost), dict(lost), *({"ms": 1000} for _ in range(8))]
    (finding,) = shown(log(tasks).write(tmp_path), rule)
    assert holds(finding, 1.9)
    assert finding.place.setting == setting


@pytest.mark.parametrize(
    ("error", "setting", "level"),
    [
        ("Metaspace", "jvm.options", "-XX:MaxMetaspaceSize=512m"),
        (
            "Compressed class space",
            "jvm.options",
            "-XX:CompressedClassSpaceSize=3g -XX:MaxMetaspaceSize=512m",
        ),
        ("Direct buffer memory", "jvm.options", "-XX:MaxDirectMemorySize=8g"),
        (
            "Cannot reserve 8192 bytes of direct buffer memory (allocated: 1, limit: 2)",
            "jvm.options",
            "-XX:MaxDirectMemorySize=8g",
        ),
        ("unable to create native thread: possibly out of memory or process limits", None, None),
    ],
)
def test_a_larger_heap_is_for_a_full_heap_alone(
    tmp_path: Path, error: str, setting: str | None, level: str | None
) -> None:
    lost = {"ms": 2000, "status": "failed", "error": f"java.lang.OutOfMemoryError: {error}"}
    tasks = [dict(lost), dict(lost), *({"ms": 1000} for _ in range(8))]
    conf = {"spark.executor.extraJavaOptions": "-Xss2m -XX:MaxMetaspaceSize=256m"}
    (finding,) = shown(log(tasks, **conf).write(tmp_path), OOM)
    assert holds(finding, 1.9)
    assert (finding.remedies[0].factor, finding.remedies[0].level) == (setting, level)


def test_no_limit_of_classes_is_set_where_there_was_none(tmp_path: Path) -> None:
    lost = {"ms": 2000, "status": "failed", "error": "java.lang.OutOfMemoryError: Metaspace"}
    tasks = [dict(lost), dict(lost), *({"ms": 1000} for _ in range(8))]
    (finding,) = shown(log(tasks).write(tmp_path), OOM)
    assert finding.remedies[0].factor is None
    assert "MaxMetaspaceSize is in none" in finding.remedies[0].text


@pytest.mark.parametrize(("master", "level"), [("yarn", "512m"), ("local[2, 4]", "2g")])
def test_the_options_are_those_of_the_jvm_that_ran_the_tasks(
    tmp_path: Path, master: str, level: str
) -> None:
    lost = {"ms": 2000, "status": "failed", "error": "java.lang.OutOfMemoryError: Metaspace"}
    made = log(
        [dict(lost), dict(lost), *({"ms": 1000} for _ in range(8))],
        **{
            "spark.executor.extraJavaOptions": "-XX:MaxMetaspaceSize=256m",
            "spark.driver.extraJavaOptions": "-XX:MaxMetaspaceSize=1g",
        },
    )
    made.rows["apps"][0]["master"] = master
    (finding,) = shown(made.write(tmp_path), OOM)
    assert finding.remedies[0].level == f"-XX:MaxMetaspaceSize={level}"


@pytest.mark.parametrize("error", ["Requested array size exceeds VM limit", ""])
def test_near_miss_what_no_limit_of_memory_explains(tmp_path: Path, error: str) -> None:
    lost = {"ms": 2000, "status": "failed", "error": f"java.lang.OutOfMemoryError: {error}"}
    tasks = [dict(lost), dict(lost), *({"ms": 1000} for _ in range(8))]
    assert not judged(log(tasks).write(tmp_path), OOM).findings


@pytest.mark.parametrize(
    "words",
    [
        "Command exited with code 137",
        "Container killed on request. Exit code is 137",
        "The executor with id 1 exited with exit code 137(SIGKILL, possible container OOM).",
    ],
)
def test_a_killed_container_in_the_words_of_each_cluster_manager(
    tmp_path: Path, words: str
) -> None:
    lost = {"ms": 2000, "status": "failed", "reason": "ExecutorLostFailure", "error": words}
    tasks = [dict(lost), dict(lost), *({"ms": 1000} for _ in range(8))]
    (finding,) = shown(log(tasks).write(tmp_path), CONTAINER)
    assert holds(finding, 1.9)


def test_near_miss_an_executor_that_ended_by_itself(tmp_path: Path) -> None:
    lost = {"ms": 2000, "status": "failed", "error": "Command exited with code 1, after 137 tasks"}
    tasks = [dict(lost), dict(lost), *({"ms": 1000} for _ in range(8))]
    assert not judged(log(tasks).write(tmp_path), CONTAINER).findings


@pytest.mark.parametrize(("rule", "error", "setting"), LOST, ids=["heap", "container"])
def test_attempts_lost_to_something_else(
    tmp_path: Path, rule: Rule, error: str, setting: str
) -> None:
    lost = {"ms": 2000, "status": "failed", "error": "java.io.FileNotFoundException: part-0"}
    tasks = [dict(lost), dict(lost), *({"ms": 1000} for _ in range(8))]
    assert not judged(log(tasks).write(tmp_path), rule).findings


@pytest.mark.parametrize(("rule", "error", "setting"), LOST, ids=["heap", "container"])
def test_nothing_failed(tmp_path: Path, rule: Rule, error: str, setting: str) -> None:
    tasks = [{"ms": 1000} for _ in range(8)]
    assert not judged(log(tasks).write(tmp_path), rule).findings


@pytest.mark.parametrize(
    ("conf", "level"),
    [
        ({"spark.executor.memory": "16g"}, "3276m"),  # 10 % of the heap
        ({"spark.executor.memory": "1g"}, "768m"),  # 384 MiB at least
        ({"spark.executor.memoryOverhead": "1024"}, "2048m"),
        ({"spark.executor.memoryOverhead": "2g"}, "4g"),
    ],
)
def test_the_overhead_that_was_in_effect_is_doubled(
    tmp_path: Path, conf: dict[str, str], level: str
) -> None:
    lost = {"ms": 2000, "status": "failed", "error": "Container marked as failed. Exit status: 137"}
    tasks = [dict(lost), dict(lost), *({"ms": 1000} for _ in range(8))]
    (finding,) = shown(log(tasks, **conf).write(tmp_path), CONTAINER)
    assert finding.remedies[0].level == level


@pytest.mark.parametrize(
    ("node", "kind"),
    [("Exchange hashpartitioning(k#1, 8), REPARTITION_BY_NUM", "code"),
     ("Exchange hashpartitioning(k#1, 200), ENSURE_REQUIREMENTS", "factor")],
)  # fmt: skip
def test_partitions_that_the_query_gives_are_the_query_s_to_change(
    tmp_path: Path, node: str, kind: str
) -> None:
    made = log(
        [{"ms": 2000, **SPILLED} for _ in range(4)] + [{"ms": 1000, **READ} for _ in range(4)]
    )
    made.rows["plan_nodes"] = [
        {"app_index": 0, "sql_id": 0, "plan_version": 0, "is_final": True, "node_id": 0,
         "depth": 0, "name": "Exchange", "simple_string": node}
    ]  # fmt: skip
    (finding,) = shown(made.write(tmp_path), SPILL)
    assert finding.remedies[0].kind == kind


def spilling(world: World) -> World:
    """Let tasks spill, with 40 % of their CPU."""
    for task in world.rows["tasks"]:
        task.update(disk_spilled_bytes=50 * MIB, memory_spilled_bytes=200 * MIB)
    samples(world, 0.4, java_stack=stack(
        world, "org.apache.spark.sql.execution.SortExec.next",
        "org.apache.spark.util.collection.unsafe.sort.UnsafeSorterSpillWriter.write",
    ))  # fmt: skip
    return world


def test_with_samples_the_cpu_of_spilling_counts(tmp_path: Path) -> None:
    finding = only(spilling(job()).write(tmp_path), SPILL)
    # 0.4 of 5.6 s of CPU, with its waits 2.56 s on two slots, of which 60 to 100 % go.
    assert planted_holds(finding, 2.56 / 2 * 0.8)
    assert "of CPU to sort, write and merge it" in finding.mechanism
    assert finding.remedies[0].factor != "layout.tasks"


def test_tasks_that_take_turns_on_the_cpus_share_their_memory_for_nothing(tmp_path: Path) -> None:
    finding = only(spilling(job(slots=8, cpus=2)).write(tmp_path), SPILL)
    assert (finding.remedies[0].factor, finding.remedies[0].level) == ("layout.tasks", "2")
    assert "each with 4 times the memory" in finding.remedies[0].text
