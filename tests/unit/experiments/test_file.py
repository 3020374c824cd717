"""Experiment files: what is wrong in them and where, what they extend, treatments, constraints."""

from __future__ import annotations

import itertools
import json
import string
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from pyrometer.cli.main import run_verb
from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.core.schema import schema_folder
from pyrometer.experiments.plan.constraints import parse_constraint
from pyrometer.experiments.plan.design import Draw, schedule
from pyrometer.experiments.plan.file import Experiment
from pyrometer.experiments.plan.source import read_source
from pyrometer.experiments.run.planned import checked, host_facts, plan_of, seed_of

ROOT = Path(__file__).parents[3]
HEAD = "name: e\nworkload: parquet-scan\nscale: test\n"


def written(folder, text, name="e.yaml"):
    path = folder / name
    path.write_text(text)
    return path


def test_the_published_schema_is_that_of_the_model_and_takes_a_skeleton(tmp_path):
    schema = json.loads((schema_folder() / "experiment.schema.json").read_text())
    assert schema == {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Experiment.model_json_schema(mode="validation"),
    }, "python tools/generate_file_schemas.py writes it"
    path = tmp_path / "mine.yaml"
    assert run_verb(["experiment", "new", "mine", "-o", str(path)]) == 0
    Draft202012Validator(schema).validate(yaml.safe_load(path.read_text()))
    assert run_verb(["experiment", "check", str(path)]) == 0
    assert run_verb(["experiment", "new", "mine", "-o", str(path)]) == 2


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        (HEAD + "matrx: {}\n", ":4:1: unknown key 'matrx'", "did you mean 'matrix'?"),
        (HEAD + "matrix: {jvm.heep: [1g]}\n", ":4:10: unknown factor 'jvm.heep'", "'jvm.heap'"),
        (HEAD + "matrix: {jvm.gc: [g1, paralel]}\n", ":4:23: jvm.gc has no level", "'parallel'"),
        (HEAD + "matrix: {codec: [snapy]}\n", ":4:18: codec has no level 'snapy'", "'snappy'"),
        (HEAD + "matrix: {jvm.heap: [12g, 1k]}\n", ":4:26: jvm.heap=1k: out of range", "from"),
        (HEAD + "matrix: {jvm.heap: 1g}\n", ":4:10: jvm.heap: not a list", "[1, 2]"),
        (HEAD + "matrix: {}\n", ":4:1: the matrix has no treatment", ""),
        (HEAD + "matrix: {jvm.gc: [g1]}\nblocks: many\n", ":5:1: blocks: ", ""),
        (HEAD + "matrix: {jvm.gc: [g1]}\ntimeout: soon\n", ":5:1: timeout: ", ""),
        (HEAD + "matrix: {jvm.gc: [g1]}\nset: {jvm.gv: g1}\n", ":5:7: unknown factor", "'jvm.gc'"),
        (
            HEAD + "matrix: {jvm.gc: [g1]}\nguard: {policy: hope}\n",
            ":5:9: guard.policy: Input should be",
            "",
        ),
        (
            HEAD + "matrix: {jvm.heap: [1g]}\nconstraints: [jvm.heap <= mem_totl]\n",
            ":5:15: unknown name 'mem_totl'",
            "'mem_total'",
        ),
        (
            HEAD + "matrix: {jvm.heap: [1g]}\nconstraints: ['jvm.heap <= ']\n",
            ":5:15: 'jvm.heap <= ': column 13, at the end",
            "",
        ),
        (
            HEAD + "matrix: {jvm.heap: [1g]}\ndesign: {split: [jvm.gc]}\n",
            ":5:18: 'jvm.gc' is not a factor of the matrix",
            "",
        ),
        (
            HEAD + "matrix: {jvm.heap: [1g, 2g]}\nbaseline: {jvm.heap: 3g}\n",
            ":5:1: no treatment has these levels",
            "jvm.heap=1g",
        ),
        (
            HEAD + "matrix: {jvm.heap: [1g, 1g], jvm.gc: [g1, serial]}\nbaseline: {jvm.heap: 1g}\n",
            ":5:1: 2 treatments have these levels",
            "each factor",
        ),
        ("name: e\nworkload: parqet-scan\nmatrix: {jvm.gc: [g1]}\n", ":2:1: unknown workload", ""),
        (HEAD[:-5] + "huge\nmatrix: {jvm.gc: [g1]}\n", ":3:1: parquet-scan has no scale", ""),
        (HEAD + "profile: ful\nmatrix: {jvm.gc: [g1]}\n", ":4:1: ", ""),
        ("[]\n", ":1:1: not a mapping of keys", ""),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path, text, message, remedy):
    path = written(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        plan_of(path, tmp_path)
    assert caught.value.message.startswith(f"{path}{message}")
    assert remedy in (caught.value.remedy or "")


def test_a_file_extends_others_and_mistakes_are_told_in_the_file_that_has_them(tmp_path):
    (tmp_path / "sub").mkdir()
    written(tmp_path, "set: {layout.tasks: 2}\nblocks: 9\nguard: {busy: 50%}\n", "sub/base.yaml")
    written(tmp_path, "extends: sub/base.yaml\nblocks: 7\nmatrix: {jvm.gc: [g1]}\n", "more.yaml")
    path = written(tmp_path, "extends: [more.yaml]\n" + HEAD + "guard: {steal: 9%}\n")
    source = read_source(path)
    assert [one.name for one in source.files] == ["base.yaml", "more.yaml", "e.yaml"]
    assert source.experiment.blocks == 7
    assert source.experiment.guard.busy == 0.5
    assert source.experiment.guard.steal == 0.09
    assert checked(path)[1].run["jvm.gc=g1"].parsed == {"layout.tasks": 2, "jvm.gc": "g1"}

    written(tmp_path, "set: {layout.task: 2}\n", "sub/base.yaml")
    with pytest.raises(UsageError, match=r"sub/base.yaml:1:7: unknown factor 'layout.task'"):
        checked(path)
    written(tmp_path, "extends: ../e.yaml\n", "sub/base.yaml")
    with pytest.raises(UsageError, match=r"extends itself: e.yaml → more.yaml → base.yaml → e"):
        checked(path)
    (tmp_path / "more.yaml").unlink()
    with pytest.raises(UsageError, match=r"e.yaml:1:11: there is no file .*more.yaml"):
        checked(path)


def test_combinations_are_included_excluded_and_left_out(tmp_path):
    path = written(
        tmp_path,
        HEAD + "matrix:\n"
        "  jvm.heap: [1g, 2g]\n"
        "  codec: [snappy, none]\n"
        "  exclude: [{jvm.heap: 2g, codec: none}]\n"
        "  include:\n"
        "    - {jvm.heap: 1g, jvm.gc: serial}\n"
        "    - {jvm.heap: 900g, codec: snappy}\n"
        "    - {jvm.heap: 4g, codec: snappy}\n"
        "constraints: [jvm.heap <= 1000 * mem_total and jvm.heap < 800g]\n",
    )
    made = checked(path)[1]
    assert list(made.run) == [
        "jvm.heap=1g, data.codec=snappy, jvm.gc=serial",
        "jvm.heap=1g, data.codec=none, jvm.gc=serial",
        "jvm.heap=2g, data.codec=snappy",
        "jvm.heap=4g, data.codec=snappy",
    ]
    assert [one.reason for one in made.left_out] == [
        "constraint jvm.heap <= 1000 * mem_total and jvm.heap < 800g"
    ]


def test_what_the_host_cannot_honour_is_left_out_with_the_reason(tmp_path):
    text = HEAD + "matrix:\n  host.cpus: ['1']\n  jvm.gc: [g1]\n  include: [{numa.nodes: '900'}]\n"
    with pytest.raises(CapabilityError, match=r"no treatment can be run here: .*lscpu"):
        plan_of(written(tmp_path, text), tmp_path)
    text = HEAD + "matrix:\n  host.cpus: ['1', '9000']\n"
    plan = plan_of(written(tmp_path, text), tmp_path)
    assert [one.name for one in plan.treatments] == ["host.cpus=1"]
    assert [one.name for one in plan.left_out] == ["host.cpus=9000"]
    assert "this process may use" in plan.left_out[0].reason


def test_the_host_tells_what_constraints_speak_of():
    facts = host_facts()
    assert facts["mem_total"] > 1 << 28
    assert facts["cpus"] >= 1
    assert facts["numa_nodes"] >= 1


@given(
    st.integers(1, 12),
    st.integers(1, 12),
    st.integers(0, 2**63),
    st.integers(0, 3),
)
def test_every_block_is_complete_and_the_seed_decides(treatments, blocks, seed, wholes):
    levels = {f"t{i}": {"w": i % (wholes + 1)} for i in range(treatments)}
    split = ["w"] if wholes else []
    made = schedule(levels, blocks, seed, split=split)
    assert made == schedule(levels, blocks, seed, split=split)
    assert [one.number for one in made] == list(range(1, treatments * blocks + 1))
    for block in range(1, blocks + 1):
        order = [one.treatment for one in made if one.block == block]
        assert sorted(order) == sorted(levels)
        changes = [levels[name]["w"] for name in order]
        if split:
            groups = 1 + sum(a != b for a, b in itertools.pairwise(changes))
            assert groups == len(set(changes))
    assert [one.block for one in made] == sorted(one.block for one in made)


def test_permutations_are_uniform():
    draw, counts = Draw(5), {}
    for _ in range(6000):
        key = "".join(draw.shuffled("abc"))
        counts[key] = counts.get(key, 0) + 1
    assert len(counts) == 6
    # Chi squared with 5 degrees of freedom, p = 0.001.
    assert sum((n - 1000) ** 2 / 1000 for n in counts.values()) < 20.5


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("a + 2 * b == 8", True),
        ("(a + 2) * b == 12", True),
        ("a / 2 - 1 >= 0 and not a > 2", True),
        ("gc == 'z' or gc != \"g1\"", False),
        ("1g == 1024 * 1m and 1.5k == 1536", True),
        ("-a < 0", True),
        ("2 - 1 - 1 == 0 and 8 / 2 / 2 == 2", True),
        ("wait < 2s", False),
        ("wait == '3000ms' and wait < 1min", True),
        ("wait * 100 == few and few <= 10min", True),
        ("300s <= (few) and few > 1m - 1", True),
        ("few == '300s' and day == 24h and 5m == 5min", True),
        ("few < 301s and few > 4g / 1024 and wait < 1m", True),
        ("few < day and day > 23h", True),
        ("day == 1d and few * 288 == 1D", True),
    ],
)
def test_constraints_mean_what_they_say(text, holds):
    levels = {"a": 2, "b": 3, "gc": "g1", "wait": "3s", "few": "5m", "day": "1d"}
    assert parse_constraint(text).holds(levels) is holds


@pytest.mark.parametrize(
    "text",
    [
        *("a", "a <", "a < 1 < 2", "(a < 1", "a < 1)", "a b", "a < $b", "1 and 2", "gc < 2"),
        *("1/0 < 1", "__import__('os')", "a.__class__ == 1"),
        *("(" * 50 + "1" + ")" * 50, "not " * 50 + "a"),
    ],
)
def test_what_is_no_constraint_is_refused(text):
    with pytest.raises((UsageError, KeyError)):
        parse_constraint(text).holds({"a": 2, "gc": "g1"})


WORDS = st.sampled_from(
    [
        "a",
        "b.c",
        "and",
        "or",
        "not",
        "(",
        ")",
        "<=",
        "==",
        "!=",
        "+",
        "-",
        "*",
        "/",
        "2g",
        "0",
        "'x'",
    ]
)


@given(st.one_of(st.lists(WORDS, max_size=25).map(" ".join), st.text(string.printable)))
def test_any_text_is_a_constraint_or_one_clear_message(text):
    refused, held = None, None
    try:
        held = parse_constraint(text).holds({"a": 2.0, "b.c": "x"})
    except (UsageError, KeyError) as error:  # KeyError: a name of no factor
        refused = error
    assert isinstance(held, bool) if refused is None else str(refused)


def test_the_seed_follows_from_what_is_said_wherever_it_lies(tmp_path):
    example = (ROOT / "examples" / "apps" / "segments.yaml").read_text()

    def seed(folder, workload):
        folder.mkdir()
        written(folder, workload, "job.yaml")
        written(folder, "select 1\n", "segments.sql")
        (folder / "orders").mkdir()
        text = "name: e\nworkload: job.yaml\nmatrix: {jvm.gc: [g1, serial]}\n"
        experiment = checked(written(folder, text))[0].experiment
        assert Path(experiment.workload).is_absolute()
        return seed_of(experiment)

    here = seed(tmp_path / "here", example)
    assert seed(tmp_path / "there", example) == here
    assert seed(tmp_path / "other", example + "# longer\n") != here
