"""Duets: how pairs are planned and played, and what is said of times that are given."""

from __future__ import annotations

import json
import math
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.duets import __main__ as command
from benchmarks.duets.__main__ import main, sides
from benchmarks.duets.compare import comparisons, pairs_needed, ratios, table
from benchmarks.duets.plan import CANARY, Duet, blocks, two_cpus
from benchmarks.duets.play import DuetError, Side, play
from tests.support import needs

WARMUP, WARM = 5, 20


def times(rng: np.random.Generator, machine: np.ndarray, slower: float, start_s: float) -> Any:
    """One side: what the machine does is the same for both, what a JVM does is its own."""
    own = np.exp(rng.normal(0, 0.01) + rng.normal(0, 0.02, machine.size))
    took = 1e9 * slower * machine * own
    ends = 1e9 * start_s + np.cumsum(took)
    return {
        "application_ns": [0, int(ends[-1] + 1e8)],
        "iterations_ns": [
            (int(end - ns), int(end)) for end, ns in zip(ends, took, strict=True)
        ],
    }  # fmt: skip


def duets(
    count: int, slower: dict[str, float], later_s: float = 0.0, seed: int = 7
) -> list[dict[str, Any]]:
    """Pairs on a machine whose speed changes by a third from one pair to the next, and within."""
    rng = np.random.default_rng(seed)
    found = []
    for block in range(count):
        for kind, factor in slower.items():
            machine = np.exp(rng.normal(0, 0.3) + rng.normal(0, 0.3, WARMUP + WARM))
            start = 4 if kind == CANARY else 4 + later_s
            both = {"bare": times(rng, machine, 1, 4), "other": times(rng, machine, factor, start)}
            found.append({
                "workload": "scan", "block": block, "kind": kind, "failure": None,
                "ratios": ratios(both["bare"], both["other"], WARMUP), "sides": both,
            })  # fmt: skip
    return found


def test_a_slow_down_is_found_and_two_bare_sides_show_none() -> None:
    kinds = {CANARY: 1.0, "light": 1.0, "full": 1.05}
    rows = [
        row for seed in range(60) for row in comparisons(duets(20, kinds, seed=seed))
        if row["value"] == "iterations"
    ]  # fmt: skip
    full = [row["ratio"] for row in rows if row["profile"] == "full"]
    light = [row["ratio"] for row in rows if row["profile"] == "light"]
    canaries = [row["canary"]["ratio"] for row in rows if row["profile"] == "light"]
    assert all(1.02 < found["low"] < found["high"] < 1.08 and found["n"] == 20 for found in full)
    for truth, series in ((1.05, full), (1, light), (1, canaries)):
        held = sum(found["low"] < truth < found["high"] for found in series)
        # Of 60 intervals of 95 %, 57 are expected.
        assert held >= 51
        assert np.mean([found["value"] for found in series]) == pytest.approx(truth, abs=0.003)


def test_rows_are_by_profile_and_what_is_compared() -> None:
    rows = comparisons(duets(2, {CANARY: 1.0, "full": 1.0, "light": 1.0}))
    assert [(row["profile"], row["value"]) for row in rows] == [
        (profile, value) for profile in ("light", "full") for value in ("iterations", "application")
    ]


def test_a_later_start_is_in_the_application_and_not_in_the_iterations() -> None:
    iterations, application = comparisons(duets(20, {CANARY: 1.0, "light": 1.0}, later_s=1.5))
    assert iterations["ratio"]["low"] < 1 < iterations["ratio"]["high"]
    bare_s = application["bare_application_ns"] / 1e9
    assert application["ratio"]["low"] > 1.02
    assert application["ratio"]["value"] == pytest.approx(1 + 1.5 / bare_s, abs=0.02)
    assert application["canary"]["ratio"]["low"] < 1 < application["canary"]["ratio"]["high"]


def test_iterations_without_the_other_side_are_left_out() -> None:
    bare = {"application_ns": (0, 40), "iterations_ns": [(0, 10), (10, 20), (20, 30), (30, 40)]}
    # The last one ran alone, twice as fast.
    late = {"application_ns": (0, 43), "iterations_ns": [(2, 14), (14, 26), (26, 38), (38, 43)]}
    found = ratios(bare, late, warmup=1)
    assert found["iterations"] == pytest.approx(1.2)
    assert found["application"] == pytest.approx(43 / 40)
    assert ratios(bare, late, warmup=3)["iterations"] is None


def test_more_noise_takes_more_pairs_by_its_square() -> None:
    noise = np.random.default_rng(3).normal(0, 0.05, 40)
    few, many = pairs_needed(list(noise)), pairs_needed(list(2 * noise))
    assert few is not None
    assert many is not None
    assert 3.5 < many / few < 4.5
    assert few == pytest.approx((1.96 * 0.05 / math.log(1.02)) ** 2, rel=0.5)


def test_few_pairs_have_the_interval_of_student_and_one_has_none() -> None:
    kinds = {CANARY: 1.0, "light": 1.02}
    methods = {
        count: comparisons(duets(count, kinds))[0]["ratio"]["method"] for count in (1, 9, 10)
    }
    assert [method.split()[0] for method in methods.values()] == ["t", "t", "Hodges-Lehmann"]
    lines = table(comparisons(duets(1, kinds))).splitlines()
    assert [line.split()[:3] for line in lines[1:]] == [
        ["scan", "light", "iterations"],
        ["scan", "light", "application"],
    ]
    assert lines[1].split()[5] == lines[1].split()[-1] == "-"


def test_a_pair_that_failed_is_left_out() -> None:
    failed = {"workload": "scan", "block": 0, "kind": "light", "failure": "side other: exit code 1"}
    rows = comparisons([failed, *duets(12, {CANARY: 1.0, "light": 1.0})])
    assert {row["ratio"]["n"] for row in rows} == {12}
    assert comparisons([failed]) == []


def test_every_kind_has_each_cpu_and_each_place_in_the_order_equally_often() -> None:
    planned = list(blocks(("light", "full"), 40, seed=5))
    assert all({one.kind for one in block} == {CANARY, "light", "full"} for block in planned)
    assert len({tuple(one.kind for one in block) for block in planned}) == 6
    for kind in (CANARY, "light", "full"):
        ours = [one for block in planned for one in block if one.kind == kind]
        for value in ("swapped", "bare_first"):
            drawn = [getattr(one, value) for one in ours]
            assert Counter(drawn) == {True: 20, False: 20}
            # At random: not in turn.
            assert len(set(drawn[::2])) == 2
    assert planned == list(blocks(("light", "full"), 40, seed=5))
    assert planned != list(blocks(("light", "full"), 40, seed=6))


def test_only_the_other_side_is_measured_and_each_has_its_cpu(tmp_path: Path) -> None:
    asked = {"workload": "scan", "data": None, "size": 1, "warmup": 1, "iterations": 2}
    duet = Duet(0, "light", swapped=True, bare_first=False)
    other, bare = sides(duet, (2, 5), asked, tmp_path)
    assert (bare.role, bare.cpu, other.role, other.cpu) == ("bare", 5, "other", 2)
    assert "pyrometer" not in bare.command
    profile = other.command[other.command.index("--profile") + 1]
    program = list(other.command[other.command.index("--") + 1 :])
    assert profile == "light"
    assert program[:-1] == list(bare.command[:-1])
    given = [json.loads(side.command[-1]) for side in (bare, other)]
    differing = {key for key in given[0] if given[0][key] != given[1][key]}
    assert differing == {"position", "output"}
    assert bare.environment == other.environment
    canary = sides(Duet(0, CANARY, False, True), (2, 5), asked, tmp_path)
    assert all("pyrometer" not in side.command for side in canary)


def program(role: str, cpu: int, text: str) -> Side:
    return Side(role, cpu, [sys.executable, "-c", text], dict(os.environ))


def test_both_run_at_once_each_on_its_cpu(tmp_path: Path) -> None:
    needs.cpus(2)
    first, second = sorted(os.sched_getaffinity(0))[:2]
    # Each ends when the other is there, too.
    text = (
        "import os, pathlib, sys, time\n"
        "there, other = map(pathlib.Path, ({!r}, {!r}))\n"
        "there.write_text(str(os.sched_getaffinity(0)))\n"
        "while not other.exists(): time.sleep(0.01)\n"
    )
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    pair = [
        program("bare", second, text.format(a, b)), program("other", first, text.format(b, a))
    ]  # fmt: skip
    play(pair, tmp_path, timeout_s=60)
    assert [(tmp_path / name).read_text() for name in "ab"] == [f"{{{second}}}", f"{{{first}}}"]


@pytest.mark.parametrize(
    ("text", "timeout_s", "said"),
    [
        ("raise SystemExit('no such table')", 60, "side other: exit code 1: no such table"),
        ("import time; time.sleep(60)", 0.3, "not at its end after 0.3 s"),
    ],
)
def test_when_a_side_fails_the_other_is_ended(
    tmp_path: Path, text: str, timeout_s: float, said: str
) -> None:
    cpu = min(os.sched_getaffinity(0))
    pid = tmp_path / "pid"
    waits = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    failing = program("other", cpu, text)
    with pytest.raises(DuetError, match=said):
        play([program("bare", cpu, waits), failing], tmp_path, timeout_s)
    # It may have been ended before it began.
    if pid.exists() and pid.read_text():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid.read_text()), 0)


def test_a_machine_of_one_cpu_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert two_cpus(frozenset({3})) is None
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})
    assert main(["--pairs", "1"]) != 0
    assert "a duet needs two CPUs" in capsys.readouterr().err


def test_two_cpus_are_two_of_those_that_may_be_used() -> None:
    needs.cpus(2)
    mine = frozenset(os.sched_getaffinity(0))
    found = two_cpus(mine)
    assert found is not None
    assert len(set(found) & mine) == 2


def played(monkeypatch: pytest.MonkeyPatch, failing: str = "") -> list[Duet]:
    """Have no process started; the duets that are asked for."""
    asked_for: list[Duet] = []
    given = {pair["kind"]: pair for pair in duets(1, {CANARY: 1.0, "light": 1.0, "full": 1.05})}

    def observe(duet: Duet, cpus: tuple[int, int], asked: dict[str, Any]) -> dict[str, Any]:
        asked_for.append(duet)
        failure = "side other: exit code 1" if duet.kind == failing else None
        return {**given[duet.kind], "block": duet.block, "failure": failure}

    monkeypatch.setattr(command, "observe", observe)
    monkeypatch.setattr(command, "two_cpus", lambda allowed: (0, 1))
    return asked_for


def test_what_was_found_is_kept_and_a_failure_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    played(monkeypatch, failing="full")
    output = tmp_path / "duets.json"
    words = ["--workload", "shuffle", "--pairs", "2", "--seed", "4", "-o", str(output)]
    assert main(words) == 1
    kept = json.loads(output.read_bytes())
    assert (kept["seed"], len(kept["pairs"])) == (4, 6)
    assert {row["profile"] for row in kept["comparisons"]} == {"light"}
    assert "2 of 6 pairs failed" in capsys.readouterr().out


def test_when_the_time_is_over_every_kind_has_as_many_pairs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked_for = played(monkeypatch)
    assert main(["--workload", "shuffle", "--pairs", "5", "--seconds", "0"]) == 0
    assert sorted(duet.kind for duet in asked_for) == [CANARY, "full", "light"]


@pytest.mark.parametrize("words", [("--pairs", "0"), ("--iterations", "0"), ("--warmup", "-1")])
def test_a_number_of_nothing_is_refused(
    words: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert f"{words[0]} is a whole number from" in capsys.readouterr().err
