"""``pyrometer fit``: what it says of numbers that somebody has, and of files that are none."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from tests.support import golden, needs

from pyrometer.cli.main import run_verb
from pyrometer.scaling.analysis import Question, analyse
from pyrometer.statistics.scaling.levels import Observation
from pyrometer.terminal import console

# A Parquet scan of 68 GB at 1 … 20 concurrent tasks on 20 cores, elapsed ms (Canali, Performance
# Analysis of a CPU-Intensive Workload in Apache Spark, 2017, Lab 9).
LAB_9 = [
    311302, 149673, 100194, 75547, 60931, 51342, 44165, 39613, 35450, 32061,
    29436, 27735, 25764, 24021, 23217, 22092, 21016, 20647, 19999, 19989,
]  # fmt: skip
CERN = (
    "--workers", "Num_concurrent_tasks", "--value", "job_run_time (sec)", "--run", "run_number",
    "--cpu", "executorCpuTime (sec)", "--run-time", "executorRunTime (sec)",
    "--gc", "jvmGCTime (sec)", "--bandwidth", "Memory_throughput_GBs",
)  # fmt: skip


@pytest.fixture
def lab9(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    console.err.cache_clear()  # made once for a process, as wide as it was then
    path = tmp_path / "lab9.csv"
    path.write_text("p,value\n" + "".join(f"{p},{t}\n" for p, t in enumerate(LAB_9, start=1)))
    yield path
    console.err.cache_clear()


def fit(capsys, *arguments):
    """Run the verb: its JSON, and its text."""
    assert run_verb(["fit", *map(str, arguments), "--json"]) == 0
    done = capsys.readouterr()
    return json.loads(done.out.splitlines()[-1]), done.err


def refused(capsys, *arguments):
    """Run the verb on what it must refuse: its message on one line."""
    assert run_verb(["fit", *map(str, arguments)]) == 2
    return " ".join(capsys.readouterr().err.split())


def law(report, name):
    return next(one for one in report["laws"] if one["name"] == name)


def test_the_published_table_fitted_up_to_8_holds_what_was_measured_beyond(lab9, capsys):
    report, text = fit(capsys, lab9, "--up-to", 8, "--predict", "16,20")
    golden.check("fit/lab9-up-to-8.txt", text)
    assert [one["inside"] for one in report["ensemble"]] == [True, True]
    assert [one["measured"]["value"] for one in report["ensemble"]] == [22092, 19989]
    # The post: linear "at least up to about 10 concurrent tasks".
    assert report["knee"]["at"]["low"] < 10 < report["knee"]["at"]["high"]
    assert {one["code"] for one in report["doubts"]} == {
        "scaling_unreplicated", "scaling_far_prediction",
    }  # fmt: skip


def test_the_interval_of_all_laws_holds_as_often_as_it_says():
    rows = [Observation(p, t) for p, t in enumerate(LAB_9, start=1)]
    inside = []
    for most in range(6, 20, 3):
        beyond = range(most + 1, min(2 * most, 20) + 1)
        ask = Question(predict=list(beyond), up_to=most)
        inside += [one.inside for one in analyse(rows, "elapsed", ask, source="lab 9").ensemble]
    assert len(inside) == 30
    assert sum(inside) >= 0.9 * 30


def test_memory_throughput_gives_a_ceiling(lab9, tmp_path, capsys):
    memory = tmp_path / "memory.csv"
    memory.write_text("tasks,GB/s\n1,4.3\n")
    report, _ = fit(
        capsys, lab9, "--up-to", 8, "--predict", "20,40", "--beside", memory,
        "--bandwidth", "GB/s", "--limit", 100,
    )  # fmt: skip
    at_20, at_40 = law(report, "roofline")["predictions"]
    # 311.3 s at 4.3 GB/s: 1339 GB, which 100 GB/s move in 13.4 s.
    assert at_40["value"]["value"] == pytest.approx(13386, rel=1e-3)
    assert at_20["value"]["value"] > at_40["value"]["value"]


@pytest.mark.parametrize("up_to", [8, 40])
def test_the_published_measurements(up_to, lab9, capsys):
    cern = needs.corpus() / "measurements" / "cern"
    report, text = fit(
        capsys, cern / "test_Spark_CPU_memory_sparkmeasure_RAC55_1_40.csv", *CERN,
        "--beside", cern / "memory_throughput_RAC55.csv", "--up-to", up_to,
        *(["--predict", "16,20,30,40"] if up_to == 8 else []),
    )  # fmt: skip
    golden.check(f"fit/scan-up-to-{up_to}.txt", text)
    assert all(one["inside"] for one in report["ensemble"])
    assert report["plateau_from"] == 30
    told = {one["code"]: one["message"] for one in report["doubts"]}
    assert "at 1: 510.4 (+15 %), 2: 513 (+15 %);" in told["scaling_first_levels_differ"]
    assert "from 24 to 25: 55.1 → 25.3" in told["scaling_gc_jump"]
    assert "30.2 CPUs are busy" in told["scaling_workers_over_cpus"]
    assert any("bandwidth is not separable" in one for one in report["verdict"])


def test_a_level_that_did_other_work_can_be_left_out(lab9, tmp_path, capsys):
    path = tmp_path / "rates.csv"
    path.write_text("n,rate\n1,5\n2,19\n4,36\n8,65\n16,90\n32,92\n")
    report, text = fit(
        capsys, path, "--workers", "n", "--value", "rate", "--kind", "throughput", "--without", 1
    )
    assert [one["fitted"] for one in report["levels"]] == [False, *[True] * 5]
    assert report["levels"][1]["speedup"]["value"] == pytest.approx(19 / 5)
    assert "rate" in text


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("p,value\n1,10\n2,fast\n", [], "{file}:3: value is 'fast', not a number"),
        ("p,value\n1,10\n0,5\n", [], "{file}:3: p is 0: it must be above zero"),
        ("p,value\n1,10\n2,-5\n", [], "{file}:3: value is -5: it must be above zero"),
        ("p,value\n1,10\n2,\n", [], "{file}:3: value is '', not a number"),
        ("p,value\n1,inf\n", [], "{file}:2: value is inf: it must be above zero"),
        ("n,value\n1,10\n", [], "{file}: no column p"),
        ("p,value,run\n1,10,1\n1,11,1\n", [], "{file}:3: p 1, run 1 is already in {file}:2"),
        ("p,value,cpu\n1,10,9\n2,5,x\n", ["--cpu", "cpu"], "{file}:3: cpu is 'x', not a number"),
        ("p,value\n", [], "{file} has no rows"),
        ("p,value\n1,10\n", [], "two levels are needed to fit, there are 1"),
        ("p,value\n" + "".join(f"{p},1\n" for p in range(1, 502)), [], "501 levels, at most 500"),
        ("p,value\n1,10\n2,6\n", ["--without", "3"], "no level 3 to leave out"),
        ("p,value\n1,10\n2,6\n", ["--predict", "4;8"], "--predict 4;8: expected numbers"),
        ("p,value\n1,10\n2,6\n", ["--predict-work", "9"], "--predict-work is for --predict P,…"),
        ("p,value\n1,10\n2,6\n", ["--limit", "9"], "--limit needs the memory throughput"),
        (
            "p,value,GB\n1,10,1\n2,6,1\n",
            ["--limit", "", "--bandwidth", "GB"],
            "one number, or 'card'",
        ),
    ],
)
def test_bad_input_is_refused_with_its_place(tmp_path, capsys, content, options, message):
    path = tmp_path / "bad.csv"
    path.write_text(content)
    assert message.format(file=path) in refused(capsys, path, *options)


def test_a_card_of_fewer_threads_than_cpus_is_no_limit(tmp_path, monkeypatch, capsys):
    path = tmp_path / "rates.csv"
    path.write_text("p,value,GB\n1,10,1\n2,6,1\n")
    host = SimpleNamespace(card={"threads_count": 1, "cpus_allowed_count": 4})
    monkeypatch.setattr("pyrometer.collect.host.card.this_host", lambda: host)
    said = refused(capsys, path, "--limit", "card", "--bandwidth", "GB")
    assert "by 1 of 4 CPUs" in said


def test_files_that_cannot_be_read_are_refused(tmp_path, capsys):
    assert "cannot be read" in refused(capsys, tmp_path / "none.csv")
    (tmp_path / "binary.csv").write_bytes(b"p,value\n1,\xff\n")
    assert "is not UTF-8" in refused(capsys, tmp_path / "binary.csv")


def test_shared_cores_are_told_only_where_threads_share_them(tmp_path, capsys):
    path = tmp_path / "rates.csv"
    path.write_text("p,value\n" + "".join(f"{p},{10 / p + 0.1 * p}\n" for p in range(1, 9)))

    def codes(*options):
        report, _ = fit(capsys, path, *options)
        return {one["code"] for one in report["doubts"]} - {"scaling_unreplicated"}

    assert codes("--cpus", 8, "--cores", 8) == set()
    assert codes("--cpus", 8, "--cores", 4) == {"scaling_shared_cores"}
    assert codes("--cpus", 4, "--cores", 4) == {"scaling_workers_over_cpus"}


def test_levels_without_cpu_time_are_no_cause(tmp_path, capsys):
    cpu = {1: "120", 2: "100", 3: "", 4: "101", 5: "100", 6: "", 7: "", 8: "", 12: "140", 16: "150"}
    path = tmp_path / "partly.csv"
    path.write_text(
        "p,value,cpu\n" + "".join(f"{p},{100 / min(p, 6)},{its}\n" for p, its in cpu.items())
    )
    report, _ = fit(capsys, path, "--cpu", "cpu")
    doubts = {one["code"]: one["message"] for one in report["doubts"]}
    assert (
        "at 1: 120 (+20 %); the least of later levels is 100"
        in (doubts["scaling_first_levels_differ"])
    )
    assert any("takes 1.50 times the CPU time at 16 workers that it takes at 5" in one
               for one in report["verdict"])  # fmt: skip


def test_three_levels_cannot_tell_a_peak(tmp_path, capsys):
    path = tmp_path / "three.csv"
    path.write_text("p,value\n1,10\n2,6\n4,5\n")
    report, _ = fit(capsys, path)
    assert any("Whether there is a peak is unknown" in one for one in report["verdict"])


def test_times_that_only_rise_have_no_peak_beyond_the_first_level(tmp_path, capsys):
    path = tmp_path / "rising.csv"
    path.write_text("p,value\n" + "".join(f"{p},{1 + p / 10}\n" for p in range(1, 21)))
    report, _ = fit(capsys, path, "--predict", "40")
    assert "USL: throughput is largest with the fewest workers (1)." in report["verdict"]
    assert report["plateau_from"] is None


def test_two_levels_are_told_without_a_law_that_they_cannot_carry(tmp_path, capsys):
    path = tmp_path / "two.csv"
    path.write_text("p,value\n1,10\n2,6\n")
    report, _ = fit(capsys, path, "--predict", "4")
    assert law(report, "usl")["reason"] == "3 levels are needed, there are 2"
    assert law(report, "amdahl")["predictions"][0]["value"] == {
        "value": pytest.approx(4), "low": None, "high": None, "level": 0.95, "n": 2,
        "method": "draws of the linearised law",
    }  # fmt: skip
    assert report["knee"]["reason"] == "five levels are needed"
    assert report["ensemble"] == []
