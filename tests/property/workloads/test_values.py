from __future__ import annotations

import math
import string
from decimal import Decimal

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrometer.core.errors import UsageError
from pyrometer.workloads.contract import load, parse_scale
from pyrometer.workloads.data.files import splitmix64, stream
from pyrometer.workloads.data.intervals import DAY_START_US, DAY_US, draw_intervals
from pyrometer.workloads.data.web_sales import granularity_of
from pyrometer.workloads.data_cache import MANIFEST, DataCache, recipe_hash
from pyrometer.workloads.registry import BUILTIN
from pyrometer.workloads.results import checksum
from pyrometer.workloads.runner import EXIT_USAGE, main

VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), st.binary(),
    st.decimals(allow_nan=False, allow_infinity=False), st.dates(), st.lists(st.integers()),
)  # fmt: skip
ROWS = st.lists(st.tuples(VALUES, VALUES), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(string.printable, max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["schema", "recipe_hash", "files", "facts", "path", "bytes", "sha256"])
            | st.text(max_size=4),
            inner,
            max_size=6,
        )
    ),
    max_leaves=20,
)


@given(ROWS, st.randoms())
def test_checksum_does_not_depend_on_order(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert checksum(shuffled) == checksum(rows)


@given(ROWS, VALUES, VALUES)
def test_checksum_sees_another_row(rows, first, second):
    assert checksum([*rows, (first, second)]) != checksum(rows)


@given(st.text(), st.text())
def test_checksum_sees_where_a_string_ends(first, second):
    assert checksum([(first, second)]) == checksum([(first + "", second)])
    if first:
        assert checksum([(first, second)]) != checksum([(first[:-1], first[-1] + second)])


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3), st.integers(0, 6))
def test_checksum_of_numbers_depends_on_the_value_only(number, zeros):
    wider = Decimal(f"{number:f}" + "0" * zeros)
    assert checksum([(number,)]) == checksum([(wider,)])
    if number == number.to_integral_value():
        assert checksum([(number,)]) == checksum([(int(number),)])


def test_checksum_keeps_all_digits_and_kinds_apart():
    assert checksum([(10**30 + 1,)]) != checksum([(10**30,)])
    assert checksum([(0.0,)]) == checksum([(-0.0,)])
    kinds = [None, True, 1.0, "1", b"1", [1], {"a": 1}, 1]
    assert len({checksum([(kind,)]) for kind in kinds}) == len(kinds)
    assert checksum([("a",), ("a",)]) != checksum([("a",)])


@given(st.text(max_size=12) | st.floats().map(str) | st.integers().map(str))
def test_any_scale_is_a_size_or_a_usage_error(text):
    workload = load(BUILTIN["parquet-scan"])
    try:
        size = parse_scale(workload, text)
    except UsageError:
        return
    assert 1 <= size < 10**15


@settings(max_examples=200)
@given(JSON | st.binary(max_size=64))
def test_no_dataset_manifest_makes_the_cache_fail(tmp_path_factory, value):
    import json

    recipe = {"generator": "thing/1"}
    cache = DataCache(tmp_path_factory.mktemp("fuzz"))
    folder = cache.path_of("thing", recipe)
    folder.mkdir(parents=True)
    if isinstance(value, dict):
        value = {"schema": "pyrometer/dataset/1", "recipe_hash": recipe_hash(recipe), **value}
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    (folder / MANIFEST).write_bytes(raw)
    found = cache.find("thing", recipe)
    assert found is None or list(found.files) == []


@settings(max_examples=100)
@given(JSON | st.binary(max_size=64))
def test_no_specification_makes_the_runner_crash(tmp_path_factory, value):
    import json

    path = tmp_path_factory.mktemp("fuzz") / "workload.json"
    path.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
    assert main([str(path)]) == EXIT_USAGE


def test_runner_without_specification_says_so(capsys, tmp_path):
    assert main([]) == EXIT_USAGE
    assert main([str(tmp_path / "none.json")]) == EXIT_USAGE
    assert "no runnable specification" in capsys.readouterr().err


@given(st.integers(1, 5000))
def test_intervals_are_disjoint_and_inside_the_day(count):
    start, end = draw_intervals(count)
    assert (start <= end).all()
    assert (end[:-1] < start[1:]).all()
    assert start[0] >= DAY_START_US
    assert end[-1] < DAY_START_US + DAY_US


def test_random_numbers_are_those_of_the_published_algorithm():
    # First outputs of SplitMix64 seeded with 1234567, as its reference implementation prints.
    state = np.array([1234567], dtype=np.uint64)
    steps = np.arange(3, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    drawn = splitmix64(state + steps).tolist()
    assert drawn == [6457827717110365317, 3203168211198807973, 9817491932198370423]
    ones = np.unpackbits(stream(1, 10_000).view(np.uint8)).mean()
    assert math.isclose(ones, 0.5, abs_tol=0.005)


@given(st.integers(1, 10**10))
def test_partitions_are_as_fine_as_files_permit(size):
    spans = {"year": 5, "quarter": 5 * 4, "month": 5 * 12}
    rows = size / spans[granularity_of(size)]
    # Either a mean partition fills a file of at least 64 MB, or years are the coarsest there is.
    assert rows * 55 >= 64_000_000 or granularity_of(size) == "year"
