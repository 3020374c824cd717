"""Benchmarks of the ledger and of extended stacks, on invented results."""

from __future__ import annotations

import json
import subprocess

import pytest
from benchmarks import closure, sleeps
from benchmarks.measured import Measured


def ratio(value):
    return {"value": value, "low": value - 0.01, "high": min(1.0, value + 0.01), "n": 9}


def told(joined=0.99):
    rows = [(10, 50, 0.5), (50, 200, joined), (200, 1000, 1.0)]
    return {
        "asleep_ns": 3e9,
        "lengths_by": "scheduler events",
        "by_length": [
            {
                "low_ns": low * 10**6, "high_ns": high * 10**6, "asleep_ns": 10**9,
                "joined_ns": share * 10**9, "uninterruptible_ns": 0, "joined_ratio": ratio(share),
                "episodes_count": 9,
            }
            for low, high, share in rows
        ],
        "by_status": [{"status": "no_sample", "asleep_ns": 10**8, "episodes_count": 1}],
        "skew": {"p50_ns": 10**6, "p95_ns": 2 * 10**7, "max_ns": 5 * 10**7, "n": 7},
        "wake_ups": {"caused_count": 4, "switches_count": 100, "ratio": 0.04},
        "dropped_ratio": 0.0,
    }  # fmt: skip


ASKED = {"10-50": {"count": 30, "ms": 900}, "50-200": {"count": 10, "ms": 1000}}


@pytest.mark.parametrize(("joined", "code"), [(0.99, 0), (0.9, 1)])
def test_sleeps_are_set_beside_what_was_asked_for(monkeypatch, tmp_path, capsys, joined, code):
    made = Measured(f"hello\n{json.dumps(ASKED)}\n", "T0", ({"extended_stacks": told(joined)},))
    seen = []
    monkeypatch.setattr(sleeps, "run_and_read", lambda words: seen.append(words) or made)
    output = tmp_path / "sleeps.json"
    assert sleeps.main(["--slots", "2", "--tier", "T0", "-o", str(output)]) == code
    assert seen[0][:4] == ["--profile", "full", "--tier", "T0"]
    said = capsys.readouterr().out
    assert "1.00 s     10    1.00 s" in said
    assert f"50 ms and more: {50 * (joined + 1):.2f} % of 2.00 s" in said
    assert "interrupted: 4 = 4.00 %" in said
    assert json.loads(output.read_text())["asked"] == ASKED


def test_without_states_there_is_a_reason():
    found = {"told": {"asleep_ns": None, "reason": "no probe", "by_length": []}, "tier": None}
    assert "no probe" in sleeps.table(found | {"asked": {}})


def ledger(slot=0.001, unclassified=0.0, ok=True):
    rows = [{"path": "task/waiting/unclassified", "value_ns": 5_000_000}]
    view = {"rows": rows, "sampling_error_ratio": 0.02, "reason": "why so"}
    return {
        "window": {"length_ns": 12 * 10**9},
        "slot_view": {**view, "closure_ratio": slot, "unclassified_ratio": unclassified},
        "core_view": {**view, "closure_ratio": None, "unclassified_ratio": 0.0},
        "checks": [{"name": "task CPU", "ok": ok, "left_ns": 1, "right_ns": 2},
                   {"name": "no verdict", "ok": None, "left_ns": 1, "right_ns": 2}],
    }  # fmt: skip


def test_ledgers_over_their_goals_are_marked_and_explained(monkeypatch, tmp_path, capsys):
    answers = {
        "kmeans": ledger(),
        "svm": ledger(slot=-0.02, unclassified=0.03, ok=False),
    }

    def run(words, verbs):
        if words[0] == "svdpp":
            raise subprocess.CalledProcessError(7, words)
        assert words[words.index("--tier") + 1] == "T2"
        return Measured("", "T2", (answers[words[0]],))

    monkeypatch.setattr(closure, "run_and_read", run)
    only = [word for name in ("kmeans", "svm", "svdpp") for word in ("--only", name)]
    output = tmp_path / "closure.json"
    assert closure.main([*only, "--tier", "T2", "-o", str(output)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "+0.10 % " in lines[1]
    assert "!" not in lines[1]
    assert lines[1].endswith("1 of 1")
    assert "-2.00 %!" in lines[2].replace("−", "-")
    assert lines[3].split() == ["svdpp", "exit", "code", "7"]
    assert "    why so" in lines
    assert any("task/waiting/unclassified: 5" in line for line in lines)
    assert any(line.startswith("svm, check task CPU") for line in lines)
    kept = json.loads(output.read_text())["runs"]
    assert [run["workload"] for run in kept] == ["kmeans", "svm", "svdpp"]
    assert closure.main(["--only", "kmeans", "--tier", "T2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["tier"] == "T2"


def test_an_unknown_workload_is_refused(capsys):
    with pytest.raises(SystemExit) as ended:
        closure.main(["--only", "no-such"])
    assert ended.value.code == 2
    assert "no-such" in capsys.readouterr().err


def test_what_spark_runs_is_measured_unasked():
    found = closure.workloads()
    assert {"tpch", "sort-text", "interval-join"} <= set(found)
    assert not [name for name in found if name.startswith("truth") or name == "random-read"]
