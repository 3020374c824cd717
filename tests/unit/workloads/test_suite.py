"""What suites do without Spark: dialect, answers, ties, orders of streams, verification."""

from __future__ import annotations

import json
import threading
import time
from datetime import date
from decimal import Decimal
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest

from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.workloads import suite
from pyrometer.workloads.answers import QUERIES_FILE, check_answer, decode
from pyrometer.workloads.catalogue.tpc import Tpch
from pyrometer.workloads.data import queries
from pyrometer.workloads.data_cache import DataCache
from pyrometer.workloads.iterations import failures
from pyrometer.workloads.suite import stream_order
from pyrometer.workloads.values import IterationResult, PartResult, Prepared, WorkloadSpec


class Two(Tpch):
    """A suite of two queries."""

    variants = suite.variants(2)


@pytest.fixture
def connection():
    with duckdb.connect(config={"threads": 1}) as made:
        made.execute(
            "create table t as from (values (1, 'a'), (2, 'b'), (2, 'c'), (3, 'd')) v(k, s)"
        )
        yield made


def spec(**levels):
    defaults = {name: v.default for name, v in Tpch.variants.items()}
    return WorkloadSpec("tpch", "x:y", {**defaults, **levels}, "test", 10)


@pytest.fixture
def prepared(tmp_path):
    answers = {
        "q01": {"sql": "a", "count": 2, "rows": [[1, {"decimal": "2.50"}], [2, 0.5]], "tied": []},
        "q02": {"sql": "b", "count": 1, "rows": [["x", {"date": "1995-01-02"}]], "tied": []},
    }
    (tmp_path / QUERIES_FILE).write_text(json.dumps(answers))
    return Prepared(root=str(tmp_path))


RIGHT = {"q01": [(2, 0.5 + 1e-12), (1, Decimal("2.5"))], "q02": [("x", date(1995, 1, 2))]}


def result(answers, streams=1):
    parts = [PartResult(n, len(a), "0", answer=a) for n, a in answers.items()] * streams
    counters = {"streams_count": streams, "queries_count": len(parts)}
    return IterationResult(sum(p.rows for p in parts), "0", counters, parts)


@pytest.mark.parametrize(("suite", "count"), [("tpch", 22), ("tpcds", 99)])
def test_texts_come_by_name_and_without_semicolon(suite, count):
    texts = queries.texts(suite)
    assert list(texts) == [f"q{n:02d}" for n in range(1, count + 1)]
    assert not any(text.endswith(";") for text in texts.values())


def test_quoted_names_become_backticks_and_strings_stay():
    assert queries.to_spark("""select 'a "b" ''c''' as "d e" """) == (
        """select 'a "b" ''c''' as `d e` """
    )


def test_answer_without_tie(connection):
    assert queries.answer(connection, "select k, s from t order by k LIMIT 1") == {
        "count": 1, "rows": [[1, "a"]], "tied": [],
    }  # fmt: skip
    assert queries.answer(connection, "select count(*) from t")["rows"] == [[4]]


def test_a_tie_at_the_limit_is_kept_apart(connection):
    found = queries.answer(connection, "select k, s from t order by k limit 2")
    assert (found["count"], found["rows"]) == (2, [[1, "a"]])
    assert sorted(found["tied"]) == [[2, "b"], [2, "c"]]
    for row in ((2, "b"), (2, "c")):
        assert check_answer("q01", found, [(1, "a"), row]) is None
    assert str(check_answer("q01", found, [(1, "a"), (3, "d")])).startswith("q01, row 2, column 1")
    assert check_answer("q01", found, [(2, "b"), (2, "c")]) is not None
    assert check_answer("q01", found, [(1, "a")]) is not None


def test_values_survive_the_file():
    values = [None, 1, 0.5, "x", Decimal("1.20"), date(2000, 2, 29)]
    assert [decode(json.loads(json.dumps(queries.encode(v)))) for v in values] == values


def test_each_stream_has_an_order_of_its_own():
    names = [f"q{n:02d}" for n in range(1, 23)]
    orders = [stream_order(names, n) for n in range(4)]
    assert all(sorted(order) == names for order in orders)
    assert len({tuple(order) for order in orders}) == 4
    assert stream_order(names, 2) == orders[2]


def test_right_results_verify(prepared):
    assert Two().verify(result(RIGHT), prepared, spec()) is None
    throughput = spec(**{"workload.mode": "throughput", "workload.streams": "3"})
    assert Two().verify(result(RIGHT, 3), prepared, throughput) is None
    mismatch = Two().verify(result(RIGHT, 2), prepared, throughput)
    assert str(mismatch) == "rows of all queries: expected 9, got 6"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"q01": [(1, Decimal("2.51")), (2, 0.5)]},
            "q01, row 1, column 2: expected 2.50, got 2.51",
        ),
        ({"q02": []}, "q02, number of rows: expected 1, got 0"),
        ({"q02": [("y", date(1995, 1, 2))]}, "q02, row 1, column 1: expected 'x', got 'y'"),
    ],
)
def test_wrong_results_name_query_row_and_column(prepared, wrong, message):
    assert str(Two().verify(result(RIGHT | wrong), prepared, spec())) == message


def test_several_wrong_results_are_counted(prepared):
    wrong = {"q01": [], "q02": []}
    mismatch = Two().verify(result(wrong), prepared, spec())
    assert str(mismatch).startswith("2 of 2 queries are wrong; q01, number of rows: expected 2")


class Answers:
    """A session that answers q01, and fails in q02 with or without Spark's end."""

    def __init__(self, stopped):
        self.sparkContext = SimpleNamespace(
            setJobDescription=lambda name: None,
            _jsc=SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=lambda: stopped)),
        )

    def sql(self, text):
        if text == "b":
            raise RuntimeError("no memory to broadcast")
        return SimpleNamespace(collect=lambda: [(2, 0.5), (1, Decimal("2.5"))])


def test_a_query_that_fails_does_not_keep_others_back(prepared):
    found = Two().run(Answers(stopped=False), prepared, spec())
    assert [(p.name, p.rows, p.error) for p in found.parts] == [
        ("q01", 2, None),
        ("q02", 0, "RuntimeError: no memory to broadcast"),
    ]
    assert Two().verify(found, prepared, spec()) is None
    assert failures(found) == "1 of 2 failed (q02): RuntimeError: no memory to broadcast"
    assert failures(result(RIGHT)) is None
    with pytest.raises(RuntimeError, match="no memory"):
        Two().run(Answers(stopped=True), prepared, spec())


class Settings(dict):
    """Settings of a session, one of which is the context's."""

    def isModifiable(self, key):  # noqa: N802
        return key != "spark.master"

    set = dict.__setitem__


class Sessions(Answers):
    """A session that makes others, which know nothing of its settings and views."""

    def __init__(self, **conf):
        super().__init__(stopped=False)
        self.conf, self.views, self.others = Settings(conf), [], []
        view = SimpleNamespace(createOrReplaceTempView=self.views.append)
        self.read = SimpleNamespace(parquet=lambda path: view)

    def newSession(self):  # noqa: N802
        self.others.append(Sessions())
        return self.others[-1]

    def sql(self, text):
        if text == "SET":
            return SimpleNamespace(collect=lambda: [(key, "redacted") for key in self.conf])
        return super().sql(text)


@pytest.fixture
def streams(prepared, monkeypatch):
    """A throughput run of one query, set up."""
    monkeypatch.setattr("pyspark.InheritableThread", threading.Thread)
    levels = spec(**{"workload.mode": "throughput", "workload.query": "1"})
    first = Sessions(**{"spark.master": "local", "spark.sql.shuffle.partitions": "7"})
    two, data = Two(), prepared.with_paths(**{table: table for table in Tpch.tables})
    two.setup(first, data, levels)
    return first, lambda: two.run(first, data, levels)


def test_streams_have_the_settings_of_the_session_that_was_set_up(streams):
    first, run = streams
    assert [one.conf for one in first.others] == [{"spark.sql.shuffle.partitions": "7"}] * 2
    assert [part.name for part in run().parts] == ["q01", "q01"]


def test_no_iteration_of_streams_registers_tables(streams):
    first, run = streams
    views = [len(one.views) for one in (first, *first.others)]
    run()
    run()
    assert views == [len(Tpch.tables)] * 3
    assert [len(one.views) for one in (first, *first.others)] == views


def test_each_specification_has_streams_of_its_own_in_a_session(prepared, monkeypatch):
    monkeypatch.setattr("pyspark.InheritableThread", threading.Thread)
    data = prepared.with_paths(**{table: table for table in Tpch.tables})
    throughput = {"workload.mode": "throughput", "workload.query": "1"}
    wanted = [spec(**throughput, **{"workload.streams": count}) for count in ("2", "3")]
    two, first = Two(), Sessions()
    for one in wanted:
        two.setup(first, data, one)
    assert [len(two.run(first, data, one).parts) for one in wanted] == [2, 3]
    assert len(first.others) == 5
    # Where nothing was set up, nothing of another session is taken.
    other = Sessions()
    assert len(two.run(other, data, wanted[0]).parts) == len(other.others) == 2


def test_a_query_left_out_is_noticed(prepared):
    mismatch = Two().verify(result({"q01": RIGHT["q01"]}), prepared, spec())
    assert str(mismatch) == "rows of all queries: expected 3, got 2"


@pytest.mark.parametrize("level", ["2", "q02"])
def test_one_query_by_number_or_name(level):
    assert Tpch().query_names(spec(**{"workload.query": level})) == ["q02"]


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ({"workload.query": "23"}, "tpch has no query 23"),
        ({"workload.mode": "throughput", "workload.streams": "65"}, "65 streams are too many"),
    ],
)
def test_what_cannot_be_run_is_said_before_data_is_made(tmp_path, levels, message):
    with pytest.raises(UsageError, match=message) as raised:
        Tpch().prepare(spec(**levels), DataCache(tmp_path))
    assert any(word in str(raised.value.remedy) for word in ("q01 … q22", "at most 64"))
    assert list(tmp_path.iterdir()) == []


def test_the_catalog_has_no_tables_in_a_folder_that_it_takes_for_a_pattern(tmp_path):
    root = tmp_path / "g[1]"
    with pytest.raises(UsageError, match=r"catalog would take .*g\[1\] for a pattern") as raised:
        Tpch().prepare(spec(**{"data.source": "catalog"}), DataCache(root))
    assert "PYROMETER_CACHE" in raised.value.remedy
    assert not root.exists()


def said_at_setup(root, **levels):
    """What a session with a catalog is told, for data in the folder."""
    said = []
    catalog = SimpleNamespace(dropTempView=said.append, setCurrentDatabase=said.append)
    spark = SimpleNamespace(sql=said.append, catalog=catalog)
    root.mkdir()
    (root / QUERIES_FILE).write_text("{}")
    prepared = Prepared(root=str(root)).with_paths(**{table: table for table in Tpch.tables})
    Tpch().setup(spark, prepared, spec(**{"data.source": "catalog", **levels}))
    return said


def test_the_folder_of_the_tables_may_have_any_name(tmp_path):
    said = said_at_setup(tmp_path / "it's")
    assert sum(f"LOCATION '{tmp_path}/it\\'s/" in one for one in said) == 1 + len(Tpch.tables)


def test_data_in_another_codec_have_a_database_of_their_own(tmp_path):
    plain, packed = (said_at_setup(tmp_path / c, **{"data.codec": c}) for c in ("snappy", "zstd"))
    assert (plain[-1], packed[-1]) == ("pyrometer_tpch", "pyrometer_tpch_zstd")
    assert sum("TABLE pyrometer_tpch_zstd." in one for one in packed) == 2 * len(Tpch.tables)
    assert not any("pyrometer_tpch." in one for one in packed)


def test_queries_are_read_once_and_no_checksum_is_in_the_time(prepared, monkeypatch):
    suite_of_two = Two()
    suite_of_two.setup(
        SimpleNamespace(read=SimpleNamespace(parquet=lambda path: SimpleNamespace(
            createOrReplaceTempView=lambda name: None))),
        prepared.with_paths(**{table: table for table in Tpch.tables}), spec(),
    )  # fmt: skip
    (Path(prepared.root) / QUERIES_FILE).unlink()
    computed = []
    of_rows = suite.rounded_checksum

    def timed(rows):
        computed.append(time.monotonic_ns())
        return of_rows(rows)

    monkeypatch.setattr(suite, "rounded_checksum", timed)
    found = suite_of_two.run(Answers(stopped=False), prepared, spec())
    assert max(p.ended_mono_ns for p in found.parts) <= found.ended_mono_ns <= min(computed)
    assert found.parts[0].checksum == of_rows([(2, 0.5), (1, Decimal("2.5"))])


def test_a_missing_generator_is_a_missing_capability(monkeypatch, tmp_path):
    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", absent)
    with pytest.raises(CapabilityError, match="tpchgen-cli is not installed"):
        Tpch().prepare(spec(), DataCache(tmp_path))
    assert list(tmp_path.iterdir()) == []
