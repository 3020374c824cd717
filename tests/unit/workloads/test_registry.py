from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from pyrometer.core.errors import UsageError
from pyrometer.workloads import registry
from pyrometer.workloads.contract import load
from pyrometer.workloads.registry import entries, get, resolve
from pyrometer.workloads.values import Variant


def test_defaults_are_filled_in():
    spec = resolve("interval-join", {})
    assert spec.levels == {"workload.variant": "decimal"}
    assert (spec.scale, spec.size) == ("default", 400_000)


@pytest.mark.parametrize("word", ["workload.variant", "variant"])
def test_last_word_of_a_factor_suffices(word):
    assert resolve("interval-join", {word: "timestamp"}).levels["workload.variant"] == "timestamp"


@pytest.mark.parametrize(("scale", "size"), [("12", 12), ("2e6", 2_000_000), ("1.5e3", 1_500)])
def test_scale_may_be_a_number(scale, size):
    assert resolve("parquet-scan", {}, scale).size == size


@pytest.mark.parametrize(
    ("scale", "size"), [("sf1", 1000), ("SF10", 10_000), ("sf0.07", 70), ("70", 70)]
)
def test_scale_may_be_a_scale_factor(scale, size):
    assert resolve("tpch", {}, scale).size == size
    assert resolve("tpcds", {}, scale).size == size


def test_a_word_of_two_letters_is_near_to_nothing():
    with pytest.raises(UsageError) as caught:
        resolve("ls", {})
    assert "did you mean" not in caught.value.message


def test_a_file_or_folder_that_is_no_workload_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jar").touch()
    (tmp_path / "below").mkdir()
    said = {}
    for name in ("a.jar", "none.jar", "none.py", "./below", "below/none"):
        with pytest.raises(UsageError) as caught:
            resolve(name, {})
        said[name] = caught.value.message, caught.value.remedy
    assert said["a.jar"][1] == "to run it as a program: pyrometer run -- spark-submit a.jar"
    assert "no workload.yaml" in said["./below"][0]
    assert {said[name][0] for name in said if "none" in name} == {
        f"{name}: no such file" for name in said if "none" in name
    }


@pytest.mark.parametrize(
    ("arguments", "message", "remedy"),
    [
        (("parquet-skan", {}), "did you mean 'parquet-scan'?", "pyrometer workloads"),
        (("zzz", {}), "unknown workload 'zzz'", "pyrometer workloads"),
        (("scan", {}), "did you mean 'parquet-scan'?", "pyrometer workloads"),
        (("parquet-scan", {"data.codex": "none"}), "did you mean 'data.codec'?", "data.codec"),
        (("parquet-scan", {"codec": "snapy"}), "did you mean 'snappy'?", "snappy, none, zstd"),
        (("parquet-scan", {}, "big"), "has no scale 'big'", "rows of web_sales"),
        (("parquet-scan", {}, "0"), "has no scale '0'", "test, default, seed"),
        (("parquet-scan", {}, "sf1"), "has no scale 'sf1'", "rows of web_sales"),
        (("tpch", {}, "sf"), "has no scale 'sf'", "sf0.1"),
        (("tpch", {}, "sf-1"), "has no scale 'sf-1'", "sf0.1"),
        (("tpch", {}, "sf0.0001"), "cannot be made at scale sf0.0001", "sf0.1"),
        (("tpcds", {}, "1"), "the least is 10 thousandths of TPC-DS's scale factor", "sf0.1"),
        (("parquet-scan", {}, "-5"), "has no scale '-5'", "number"),
        (("parquet-scan", {}, "nan"), "has no scale 'nan'", "number"),
        (("parquet-scan", {}, "inf"), "has no scale 'inf'", "number"),
    ],
)  # fmt: skip
def test_what_is_unknown_is_named_with_what_there_is(arguments, message, remedy):
    with pytest.raises(UsageError) as caught:
        resolve(*arguments)
    assert message in caught.value.message
    assert remedy in (caught.value.remedy or "")


def test_other_packages_add_workloads_but_replace_none(monkeypatch):
    points = [
        EntryPoint("mine", "my_package:Mine", registry.GROUP),
        EntryPoint("parquet-scan", "my_package:Impostor", registry.GROUP),
    ]
    monkeypatch.setattr(registry.metadata, "entry_points", lambda group: points)
    known = entries()
    assert known["mine"] == "my_package:Mine"
    assert known["parquet-scan"] == registry.BUILTIN["parquet-scan"]
    with pytest.raises(UsageError, match="my_package:Mine cannot be loaded: ModuleNotFoundError"):
        get("mine")


@pytest.mark.parametrize("entry", ["json:loads", "json:nothing", "nowhere:Thing", "", "os"])
def test_an_entry_that_is_no_workload_is_refused(entry):
    with pytest.raises(UsageError):
        load(entry)


def test_integer_variant_takes_positive_integers_besides_its_levels():
    variant = Variant(levels={"few": "8"}, default="few", doc="partitions", integer=True)
    assert [variant.accepts(w) for w in ("few", "12", "0", "-1", "x", "")] == [
        True, True, False, False, False, False,
    ]  # fmt: skip
