"""A SQL file as a workload: how it is split, what its parameters are, and that it repeats."""

from __future__ import annotations

import json
import signal
import time
from dataclasses import dataclass, field

import pytest

from pyrometer.core.errors import UsageError
from pyrometer.workloads import registry, runner
from pyrometer.workloads.custom import sql_file
from pyrometer.workloads.custom.sql_file import argument, statements
from pyrometer.workloads.launch import launch_spec


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select 1", ["select 1"]),
        ("select 1;select 2;", ["select 1", "select 2"]),
        ("; ;\n-- nothing;\n/* ; */;", []),
        ("select ';', \";\", `a;b`, 'it''s;', 'a\\';b'; select 2", None),
        ("select r'\\'; select 2", ["select r'\\'", "select 2"]),
        ("/* a /* b; */ c; */ select 1; select 2", ["/* a /* b; */ c; */ select 1", "select 2"]),
        ("select 1 -- one; two\n+ 2; select 3", ["select 1 -- one; two\n+ 2", "select 3"]),
        ("'lone string'", ["'lone string'"]),
    ],
)
def test_statements_end_at_semicolons_outside_of_strings_and_comments(text, expected):
    if expected == []:
        with pytest.raises(UsageError, match="holds no SQL statement"):
            statements(text, "q.sql")
        return
    found = [statement.text for statement in statements(text, "q.sql")]
    assert found == (expected or [text.rpartition(";")[0], "select 2"])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("select :a + :b_1 + :a", ("a", "b_1")),
        ("select ':a', \":b\", `:c` -- :d\n /* :e */", ()),
        ("select x::int, y:field, z[0]:field, :real", ("real",)),
    ],
)
def test_parameters_are_found_where_spark_finds_them(text, names):
    (statement,) = statements(text, "q.sql")
    assert statement.parameters == names


def test_a_statement_knows_its_line():
    assert [s.line for s in statements("\nselect 1;\n\n  select\n2;", "q.sql")] == [2, 4]


@pytest.mark.parametrize(("text", "what"), [("'", "the quote '"), ("/* /* */", "the comment")])
def test_what_does_not_end_is_named_with_its_line(text, what):
    with pytest.raises(UsageError, match=f"q.sql, line 3: {what}"):
        statements(f"select 1;\n\nselect {text}", "q.sql")


@pytest.mark.parametrize(
    ("text", "value"),
    [("12", 12), ("-3", -3), ("007", "007"), ("1.5", "1.5"), ("1 or 1=1", "1 or 1=1")],
)
def test_arguments_are_integers_or_text(text, value):
    assert argument(text) == value


@dataclass
class FakeFrame:
    rows: list[tuple[object, ...]]

    def collect(self):
        return self.rows


@dataclass
class FakeSpark:
    """Gives each statement's rows in turn, and keeps what it was asked."""

    answers: list[list[tuple[object, ...]]]
    asked: list[tuple[object, ...]] = field(default_factory=list)
    described: str | None = None

    @property
    def sparkContext(self):  # noqa: N802
        return self

    def setLocalProperty(self, key, value):  # noqa: N802
        pass

    def setJobDescription(self, text):  # noqa: N802
        self.described = text

    def sql(self, text, arguments):
        self.asked.append((self.described, text, arguments))
        return FakeFrame(self.answers[len(self.asked) - 1])

    def stop(self):
        pass


@pytest.fixture
def run(tmp_path, monkeypatch):
    handlers = [(n, signal.getsignal(n)) for n in (signal.SIGINT, signal.SIGTERM)]

    def go(text, answers, levels=None):
        spark = FakeSpark(answers)
        monkeypatch.setattr(runner, "start_session", lambda conf: spark)
        path = tmp_path / "query.sql"
        path.write_text(text)
        launch_spec(str(path), levels or {}, raw_dir=tmp_path, iterations=2, warmup=0)
        code = runner.main([str(tmp_path / "workload.json")])
        lines = (tmp_path / "iterations.ndjson").read_text().splitlines()
        return code, spark, [r for r in map(json.loads, lines) if r["k"] == "end"]

    yield go
    for number, handler in handlers:
        signal.signal(number, handler)


def test_statements_are_parts_with_bound_parameters(run):
    rows = [[], [(1,), (2,)]] * 2
    code, spark, ends = run("use x; select :n", rows, {"sql.n": "7"})
    assert code == 0
    assert spark.asked[:2] == [
        ("statement-1", "use x", None), ("statement-2", "select :n", {"n": 7}),
    ]  # fmt: skip
    assert spark.described is None
    assert [(p["name"], p["rows"]) for p in ends[0]["parts"]] == [
        ("statement-1", 0), ("statement-2", 2),
    ]  # fmt: skip
    part = ends[0]["parts"][0]
    assert 0 < part["started_mono_ns"] <= part["ended_mono_ns"]


def test_an_iteration_unlike_the_first_is_a_wrong_result_and_says_where(run, capsys):
    code, _, ends = run("select 1; select 2", [[(1,)], [(2,)], [(1,)], [(3,)]])
    assert code == runner.EXIT_WRONG_RESULT
    assert [end["status"] for end in ends] == ["ok", "wrong_result"]
    assert "statement-2, unlike the first iteration: expected 1 rows" in ends[1]["error"]
    assert "WRONG RESULT" in capsys.readouterr().err


def test_floats_that_differ_in_their_last_digits_repeat(run):
    code, _, ends = run("select 1; select 2", [[(1,)], [("a", 0.3)], [(1,)], [("a", 0.1 + 0.2)]])
    assert code == 0
    assert [end["status"] for end in ends] == ["ok", "ok"]


def test_trials_are_compared_without_the_last_digits_of_floats(run):
    rows = [[(1,)], [("a", 0.3, [0.3])], [(1,)], [("a", 0.1 + 0.2, [0.1 + 0.2])]]
    _, _, ends = run("select 1; select 2", rows)
    assert ends[0]["checksum"] == ends[1]["checksum"]
    assert ends[0]["parts"][1]["checksum"] != ends[1]["parts"][1]["checksum"]


def test_trials_whose_floats_differ_by_more_have_other_checksums(run):
    checksums = {run("select 1", [[(value,)]] * 2)[2][-1]["checksum"] for value in (0.3, 0.30001)}
    assert len(checksums) == 2


@pytest.mark.parametrize(("first", "second"), [(0.3, 0.31), (1e-7, 1.1e-7)])
def test_floats_that_differ_by_more_do_not_repeat(run, first, second):
    code, _, ends = run("select 1; select 2", [[(1,)], [(first,)], [(1,)], [(second,)]])
    assert code == runner.EXIT_WRONG_RESULT
    assert "statement-2, unlike the first iteration" in ends[1]["error"]


@pytest.fixture
def computed(monkeypatch):
    """When each checksum was computed."""
    times = []
    of_rows = sql_file.checksum

    def timed(rows):
        times.append(time.monotonic_ns())
        return of_rows(rows)

    monkeypatch.setattr(sql_file, "checksum", timed)
    return times


def test_checksums_are_computed_after_the_iteration_has_ended(run, computed):
    _, _, ends = run("select 1; select 2", [[(1,)], [(2,)]] * 2)
    parts = ends[0]["parts"]
    assert max(part["ended_mono_ns"] for part in parts) <= ends[0]["mono_ns"] <= computed[0]


def test_many_rows_are_not_held_until_the_last_statement_has_ended(run, computed, monkeypatch):
    monkeypatch.setattr(sql_file, "MOST_HELD_ROWS", 1)
    answers = [[(1,), (2,)], [(3,)], [(4,)]] * 2
    code, _, ends = run("select 1; select 2; select 3", answers)
    parts = ends[0]["parts"]
    assert code == 0
    assert [(part["name"], part["rows"]) for part in parts] == [
        ("statement-1", 2), ("statement-2", 1), ("statement-3", 1),
    ]  # fmt: skip
    assert parts[0]["ended_mono_ns"] <= computed[0] <= parts[1]["started_mono_ns"]
    assert ends[0]["mono_ns"] <= computed[1]


def test_a_parameter_without_a_value_or_an_unknown_one_is_told(tmp_path):
    path = tmp_path / "q.sql"
    path.write_text("select :day")
    with pytest.raises(UsageError, match="parameter :day has no value"):
        launch_spec(str(path), raw_dir=tmp_path)
    with pytest.raises(UsageError, match=r"no variant 'sql.dya'.*did you mean 'sql.day'"):
        registry.resolve(str(path), {"sql.dya": "1"})
    with pytest.raises(UsageError, match=r"cannot be read.*No such file"):
        registry.get(str(tmp_path / "missing.sql"))
