"""A SQL file as a workload: how it is split, what its parameters are, and that it repeats."""

from __future__ import annotations

import json
import signal
from dataclasses import dataclass, field

import pytest

from pyrometer.core.errors import UsageError
from pyrometer.workloads import registry, runner
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


def test_a_parameter_without_a_value_or_an_unknown_one_is_told(tmp_path):
    path = tmp_path / "q.sql"
    path.write_text("select :day")
    with pytest.raises(UsageError, match="parameter :day has no value"):
        launch_spec(str(path), raw_dir=tmp_path)
    with pytest.raises(UsageError, match=r"no variant 'sql.dya'.*did you mean 'sql.day'"):
        registry.resolve(str(path), {"sql.dya": "1"})
    with pytest.raises(UsageError, match=r"cannot be read.*No such file"):
        registry.get(str(tmp_path / "missing.sql"))
