"""Spaces: bounded for machine and job, read from files with clear errors, and never unsafe."""

from __future__ import annotations

import pytest

from pyrometer.core.errors import UsageError
from pyrometer.trial.factors import find_factor, parse_level
from pyrometer.tune.space.cube import decode, encode, features, plain
from pyrometer.tune.space.declared import knobs, of_space, spaces
from pyrometer.tune.space.feasible import infeasible
from pyrometer.tune.space.file import parse_space
from pyrometer.tune.space.job import job_from
from pyrometer.tune.space.levels import bounds, read_level, write_level
from pyrometer.tune.space.memory import memory_of
from pyrometer.tune.space.named import named_space
from pyrometer.tune.space.space import Knob, Space

G = float(1 << 30)
SOLID = {"mem_total": 16 * G, "cpus": 4.0}
HOST = {**SOLID, "swap_total": None}


def test_there_are_the_spaces_that_people_ask_for() -> None:
    assert spaces() == ("spark-sql", "jvm", "layout", "data", "os", "all")
    assert {one.factor for one in of_space("all")} == {one.factor for one in knobs()}


def test_every_declared_knob_is_a_factor_whose_levels_it_takes() -> None:
    for one in knobs():
        factor = find_factor(one.factor)
        if factor.scope == "workload":
            continue
        assert not factor.refused, one.factor
        for level in (*one.levels, *one.special):
            parse_level(factor, one.factor, level)


@pytest.mark.parametrize("cpus", [1.0, 2.0, 64.0])
@pytest.mark.parametrize("memory", [2 * G, 512 * G])
def test_ends_and_first_levels_of_every_knob_may_be_given(cpus: float, memory: float) -> None:
    space = named_space("all", {"mem_total": memory, "cpus": cpus}, spark_version="4.0")
    for knob in space.knobs:
        factor = find_factor(knob.factor)
        assert len(knob.levels) > 1 or bounds(knob)[0] < bounds(knob)[1], knob
        for level in (*knob.levels, *knob.first, *filter(None, [knob.default])):
            parse_level(factor, knob.factor, level)
    for at in range(len(space.knobs)):
        for end in (0.21, 1.0):
            point = encode(space, {})
            point[at] = end
            for name, level in decode(space, point).items():
                parse_level(find_factor(name), name, level)


def test_the_range_follows_the_machine_and_the_job() -> None:
    small = named_space("jvm", {"mem_total": 4 * G, "cpus": 2.0, "heap": G}).knob("jvm.heap")
    large = named_space("jvm", {"mem_total": 64 * G, "cpus": 2.0, "heap": G}).knob("jvm.heap")
    assert bounds(small)[1] < bounds(large)[1] <= 0.7 * 64 * G
    shuffled = named_space("spark-sql", {**HOST, "shuffle_bytes": 100 * G})
    assert bounds(shuffled.knob("spark.sql.shuffle.partitions"))[1] == 20_000


def test_what_the_job_says_is_the_default_and_inside_the_range() -> None:
    space = named_space("spark-sql", HOST, now={"spark.sql.shuffle.partitions": "3000"})
    knob = space.knob("spark.sql.shuffle.partitions")
    assert (knob.default, bounds(knob)[1]) == ("3000", 3000)
    assert plain(space, {"spark.sql.shuffle.partitions": "3000"}) == {}


def test_defaults_are_those_of_the_version_and_unknown_of_an_unknown_one() -> None:
    known = named_space("spark-sql", HOST, spark_version="4.0.1")
    assert known.knob("spark.sql.shuffle.partitions").default == "200"
    unknown = named_space("spark-sql", HOST).knob("spark.sql.shuffle.partitions")
    assert unknown.default is None


def test_what_cannot_be_changed_is_left_out_with_the_reason() -> None:
    space = named_space("os", HOST, refused={"os.lru_gen": "the kernel has none"})
    assert space.left_out == {"os.lru_gen": "the kernel has none"}
    data = named_space("data", HOST, declared={"data.codec": ["snappy", "zstd"]})
    assert data.knob("data.codec").levels == ("snappy", "zstd")
    assert data.left_out["data.layout"] == "the workload does not declare it"


def test_what_this_machine_cannot_do_is_left_out() -> None:
    one, two, unknown = (
        named_space("layout", {**HOST, "numa_nodes": nodes}) for nodes in (1.0, 2.0, None)
    )
    assert one.left_out == {"numa.bind": "the machine has one NUMA node"}
    assert two.knob("numa.bind").levels == unknown.knob("numa.bind").levels


def test_levels_are_as_people_write_them() -> None:
    space = named_space("spark-sql", HOST, spark_version="4.0")
    rows = space.knob("spark.sql.parquet.columnarReaderBatchSize")
    assert rows.first == ("8192",)
    assert {write_level(rows, value) for value in (4000, 4100, 4200)} == {"4096"}
    assert write_level(space.knob("spark.sql.files.maxPartitionBytes"), 100e6) == "96m"


@pytest.mark.parametrize("value", [0.00001, 0.5, 2_500_000.0])
def test_levels_of_any_size_are_read_as_they_were_written(value: float) -> None:
    knob = Knob("spark.sql.autoBroadcastJoinThreshold", "float", 1e-6, 1e7, log=True)
    assert read_level(knob, write_level(knob, value)) == value


FILES = ("spark.sql.files.minPartitionNum", "spark.sql.files.maxPartitionBytes")
HASH = "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold"
BROADCAST = "spark.sql.autoBroadcastJoinThreshold"


def test_settings_that_this_spark_does_not_have_are_left_out_with_the_reason() -> None:
    old, new, unknown = (
        named_space("spark-sql", HOST, spark_version=one) for one in ("3.0.3", "4.1.0", None)
    )
    assert old.left_out[FILES[0]] == "new in Spark 3.1, and the job runs on 3.0.3"
    assert HASH in old.left_out
    assert old.knob(FILES[1]).low == 4 << 20
    assert not new.left_out
    assert new.knob(FILES[0]).default == "4"
    assert FILES[0] in {one.factor for one in unknown.knobs}
    mine = parse_space(f"{{name: mine, knobs: {{{FILES[0]}: [4, 8], {FILES[1]}: }}}}", "x.yaml",
                       HOST, spark_version="3.0.3")  # fmt: skip
    assert mine.left_out == {FILES[0]: old.left_out[FILES[0]]}


def test_files_are_read_in_no_more_tasks_than_a_driver_schedules() -> None:
    large = named_space("spark-sql", {**HOST, "input_bytes": 2e12}, spark_version="4.0")
    assert 2e12 / (large.knob(FILES[1]).low or 1) <= 20000
    small = named_space("spark-sql", {**HOST, "input_bytes": 1e9}, spark_version="4.0")
    assert small.knob(FILES[1]).low == 1 << 20


def test_rows_of_a_file_are_limited_only_where_files_are_written() -> None:
    rows = "spark.sql.files.maxRecordsPerFile"
    writes, none = (named_space("data", {**HOST, "writes_files": one}) for one in (1.0, 0.0))
    assert (writes.knob(rows).default, writes.knob(rows).special) == ("0", ("0",))
    assert none.left_out[rows] == "the job writes no files, as its run (--from) shows"


@pytest.mark.parametrize(
    ("factor", "said", "held"),
    [(HASH, "0", "0b"), (HASH, "0b", "0b"), (BROADCAST, "-1b", "-1"), (BROADCAST, "0", "0")],
)
def test_what_holds_today_has_its_place_in_the_space_however_it_is_written(
    factor: str, said: str, held: str
) -> None:
    job = job_from({factor: said}, "local[4]", "4.0.1", {})
    space = named_space("spark-sql", {**HOST, **job.facts}, now=job.now, spark_version="4.0.1")
    knob = space.knob(factor)
    assert knob.default == held
    assert knob.low == 1 << 20
    assert held in knob.special
    assert plain(space, {factor: said}) == {}
    assert (encode(space, {factor: said}) == encode(space, {})).all()
    assert (features(space, [{factor: said}]) == features(space, [{}])).all()
    assert infeasible(space, {factor: "64m"}) is None


@pytest.mark.parametrize(
    ("levels", "reason"),
    [
        ({"spark.reducer.maxSizeInFlight": "192m"}, "what tasks fetch at a time may take 1.50 GiB"),
        (
            {"spark.shuffle.file.buffer": "512k"},
            "the buffers of a shuffle's files may take 800 MiB",
        ),
        ({"spark.shuffle.file.buffer": "512k", "spark.sql.shuffle.partitions": "500"}, None),
        ({"spark.reducer.maxSizeInFlight": "192m", "jvm.heap": "3g"}, None),
        (
            {"spark.hadoop.parquet.block.size": "256m"},
            "the row groups that tasks write may take 2.",
        ),
        ({"layout.tasks": "16", "spark.reducer.maxSizeInFlight": "64m"}, "may take 1.00 GiB"),
    ],
)
def test_what_divides_a_heap_fits_into_it(levels: dict[str, str], reason: str | None) -> None:
    facts = {**HOST, "cpus": 8.0, "heap": G, "writes_parquet": 1.0}
    said = infeasible(named_space("all", facts, spark_version="4.0"), levels)
    assert (said is None) if reason is None else (reason in (said or "")), said


def test_a_share_that_the_job_exceeds_today_may_stay_and_not_grow() -> None:
    facts, fetched = {**HOST, "cpus": 64.0, "heap": G}, "spark.reducer.maxSizeInFlight"
    space = named_space("all", facts, spark_version="4.0")
    assert infeasible(space, {fetched: "24m"}) is None
    assert infeasible(space, {"jvm.heap": "2g"}) is None
    assert "3.00 GiB of a heap of 512 MiB" in (infeasible(space, {"jvm.heap": "512m"}) or "")


def test_a_heap_with_which_spark_does_not_start_is_no_level() -> None:
    space = named_space("jvm", {**HOST, "heap": G / 2})
    assert space.knob("jvm.heap").low == G / 2
    mine = "{name: mine, knobs: {spark.driver.memory: {from: 256m, to: 2g}}}"
    said = infeasible(parse_space(mine, "x.yaml", HOST), {"spark.driver.memory": "320m"})
    assert said == "a heap of 320 MiB: Spark does not start with less than 450 MiB"


def test_what_executors_have_beside_their_heap_counts_as_the_job_sets_it() -> None:
    said = {"spark.executor.memoryOverhead": "2g", "spark.executor.pyspark.memory": "1g"}
    facts: dict[str, float] = {
        **SOLID,
        **job_from(said, "local-cluster[2,1,2048]", "4.0.1", {}).facts,
    }
    space = named_space("all", facts, spark_version="4.0")
    assert infeasible(space, {"jvm.heap": "2g"}) is None
    why = infeasible(space, {"layout.executors": "4", "layout.cores_per_executor": "1"}) or ""
    assert "4 × (1.00 GiB heap + 2.00 GiB beside it + 1.00 GiB of Python)" in why
    assert memory_of({}, facts).each == 4.0 * G
    ratio = {"spark.executor.memoryOverheadFactor": "0.4", "spark.executor.memory": "4g"}
    apart = job_from(ratio, "yarn", "4.0.1", {}).facts
    assert memory_of({}, apart).beside == pytest.approx(1.6 * G)


def test_an_unknown_space_is_named_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="no space 'spark-sq'") as error:
        named_space("spark-sq", HOST)
    assert error.value.remedy == "did you mean 'spark-sql'?"


WHOLE = named_space("all", HOST, spark_version="4.0")


@pytest.mark.parametrize(
    ("levels", "reason"),
    [
        ({"layout.executors": "4", "layout.cores_per_executor": "1", "jvm.heap": "4g"}, "4 × ("),
        ({"jvm.heap": "11g", "layout.executors": "1", "layout.cores_per_executor": "4"}, "driver"),
        ({"jvm.heap": "1g", "jvm.young": "1g"}, "leaves too little"),
        ({"jvm.gc": "serial", "jvm.gc_threads": "2"}, "one thread"),
        ({"layout.cores_per_executor": "2"}, "needs layout.executors"),
        ({"layout.executors": "4", "layout.cores_per_executor": "4"}, "more than twice"),
        ({"spark.memory.fraction": "0.99"}, "are safe here"),
        ({"jvm.gc": "epsilon"}, "no level 'epsilon'"),
        ({"jvm.young": "a lot"}, "not a number"),
        ({"spark.task.maxFailures": "1"}, "not a knob of the space"),
    ],
)
def test_what_breaks_the_machine_or_the_job_is_refused(levels: dict[str, str], reason: str) -> None:
    assert reason in (infeasible(WHOLE, levels) or "")


def test_the_job_as_it_is_and_a_plain_change_may_be_launched() -> None:
    assert infeasible(WHOLE, {}) is None
    assert infeasible(WHOLE, {"jvm.heap": "8g", "spark.sql.shuffle.partitions": "8"}) is None


OFF_HEAP = """
name: off-heap
knobs:
  jvm.heap: {from: 1g, to: 12g}
  spark.memory.offHeap.size: {from: 1g, to: 12g, special: [0b]}
  spark.memory.offHeap.enabled: [false, true]
"""


def test_off_heap_memory_counts_where_it_is_used() -> None:
    space = parse_space(OFF_HEAP, "x.yaml", HOST)
    both = {"jvm.heap": "8g", "spark.memory.offHeap.size": "8g"}
    assert infeasible(space, {**both, "spark.memory.offHeap.enabled": "false"}) is None
    assert "off-heap" in (infeasible(space, {**both, "spark.memory.offHeap.enabled": "true"}) or "")


def test_more_off_heap_memory_counts_where_the_job_uses_it_already() -> None:
    space = parse_space(OFF_HEAP, "x.yaml", {**HOST, "off_heap": G})
    both = {"jvm.heap": "8g", "spark.memory.offHeap.size": "8g"}
    assert "8.00 GiB off-heap" in (infeasible(space, both) or "")
    assert infeasible(space, {**both, "spark.memory.offHeap.enabled": "false"}) is None


FILE = """\
name: mine
spaces: [jvm]
knobs:
  spark.sql.shuffle.partitions: {from: cpus, to: 64, first: [8]}
  spark.sql.adaptive.enabled: [true, false]
  spark.memory.fraction:
without: [jvm.pages]
constraints:
  - jvm.heap <= 0.25 * mem_total
"""


def test_a_file_begins_with_named_spaces_and_changes_them() -> None:
    space = parse_space(FILE, "x.yaml", HOST, spark_version="4.0")
    names = [one.factor for one in space.knobs]
    assert "jvm.gc" in names
    assert "jvm.pages" not in names
    knob = space.knob("spark.sql.shuffle.partitions")
    assert (*bounds(knob), knob.first) == (4, 200, ("8",))
    assert space.knob("spark.memory.fraction").default == "0.6"
    assert space.knob("spark.sql.adaptive.enabled").kind == "choice"
    assert "constraint jvm.heap" in (infeasible(space, {"jvm.heap": "5g"}) or "")
    assert infeasible(space, {"jvm.heap": "4g"}) is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("spaces: [jvm]", "spaces: [jwm]", "x.yaml:2:10: no space 'jwm'"),
        ("from: cpus", "from: cpu +", "x.yaml:4:3: 'cpu +': column"),
        ("first: [8]", "frist: [8]", "unknown key 'frist'"),
        ("[true, false]", "[true]", "x.yaml:5:3: spark.sql.adaptive.enabled: fewer than two"),
        ("spark.memory.fraction:", "spark.unheard.of:", "x.yaml:6:3: spark.unheard.of: nothing"),
        ("spark.memory.fraction:", "jvm.hep:", "x.yaml:6:3: unknown factor 'jvm.hep'"),
        ("spark.memory.fraction:", "engine: [a, b]", "x.yaml:6:3: engine cannot be set"),
        ("spark.memory.fraction:", "jvm.gc: {from: 1, to: 2}", "jvm.gc has levels, not a range"),
        ("without: [jvm.pages]", "without: [jvm.page]", "x.yaml:7:11: no knob 'jvm.page'"),
        ("jvm.heap <=", "jvm.hep <=", "x.yaml:9:5: unknown name 'jvm.hep'"),
        ("jvm.heap <=", "jvm.gc <=", "x.yaml:9:5: 'jvm.gc <="),
        ("- jvm.heap <= 0.25 * mem_total", "- 2g", "x.yaml:9:5: '2g' is not a condition"),
        ("name: mine", "name: [a", "not YAML"),
        ("name: mine", "knob: mine", "unknown key 'knob'"),
    ],
)
def test_errors_say_where_and_what(old: str, new: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_space(FILE.replace(old, new), "x.yaml", HOST)
    assert message in error.value.message


def test_facts_of_this_host_are_none_of_executors_elsewhere() -> None:
    text = "{name: mine, knobs: {jvm.heap: {from: 1g, to: %s}}, constraints: [jvm.heap < %s]}"
    parse_space(text % ("2g", "3g"), "x.yaml", {"elsewhere": 1.0})
    for high, most in (("2g", "mem_total"), ("mem_total / 2", "3g")):
        with pytest.raises(UsageError, match="mem_total: of this host, and executors") as error:
            parse_space(text % (high, most), "x.yaml", {"elsewhere": 1.0})
        assert error.value.message.count("x.yaml:1:") == 1
        assert "jvm.heap <= 8g" in (error.value.remedy or "")


def test_a_level_of_minutes_is_compared_with_a_time_as_one() -> None:
    knobs = "{spark.network.timeout: [5m, 20m]}"
    text = f"{{name: mine, knobs: {knobs}, constraints: [spark.network.timeout <= 10min]}}"
    space = parse_space(text, "x.yaml", HOST)
    broken = [infeasible(space, {"spark.network.timeout": one}) for one in ("5m", "20m")]
    assert broken == [None, "constraint spark.network.timeout <= 10min"]


def test_a_space_without_knobs_is_an_error() -> None:
    with pytest.raises(UsageError, match="no knobs"):
        parse_space("name: empty", "x.yaml", HOST)


def test_factors_without_effect_beside_others_are_left_out() -> None:
    assert isinstance(WHOLE, Space)
    levels = {"jvm.gc": "serial", "jvm.gc_threads": "2", "cpu.bind": "own"}
    assert plain(WHOLE, levels) == {"jvm.gc": "serial"}
