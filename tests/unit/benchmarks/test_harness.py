"""The benchmark harness: order, what failed, direct CPU, and real processes."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from benchmarks import harness
from benchmarks.execute import Arm, Metrics, execute
from benchmarks.harness import Plan, alternate, order, table


def burn(seconds: float) -> dict[str, float]:
    """Stand for a function to be measured; runs in a fresh process."""
    start = time.process_time()
    while time.process_time() - start < seconds:
        pass
    return {"burnt_ns": seconds * 1e9}


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-S", "-c", code)


def invented(costs: dict[str, int], failing: set[tuple[str, int]] | None = None) -> Any:
    seen: Counter[str] = Counter()

    def run(arm: Arm, timeout_s: float | None) -> tuple[Any, Metrics]:
        number = seen[arm.name]
        seen[arm.name] += 1
        code = 3 if (arm.name, number) in (failing or set()) else 0
        wall = costs[arm.name] * (100 + number)
        metrics: Metrics = {"instrument_cpu_ns": 0.02 * wall, "process_cpu_ns": float(wall)}
        return SimpleNamespace(
            wall_ns=wall, cpu_ns=wall, peak_rss_bytes=1, exit_code=code, stderr_tail="why"
        ), ({} if code else metrics)

    return run


ARMS = (Arm("base", ("true",)), Arm("twice", ("true",)), Arm("half", ("true",)))
COSTS = {"base": 10, "twice": 20, "half": 5}


def test_every_block_holds_every_arm_once_in_an_order_that_the_seed_decides() -> None:
    plan = Plan("x", ARMS, blocks=60, seed=5)
    orders = [tuple(arm.name for arm in order(plan, block)) for block in range(plan.blocks)]
    assert all(sorted(names) == ["base", "half", "twice"] for names in orders)
    assert orders == [tuple(a.name for a in order(plan, b)) for b in range(60)]
    firsts = Counter(names[0] for names in orders)
    assert min(firsts.values()) > 8
    other = Plan("x", ARMS, blocks=60, seed=6)
    assert orders != [tuple(a.name for a in order(other, b)) for b in range(60)]


def test_ratios_direct_cpu_and_table() -> None:
    plan = Plan("demo", ARMS, blocks=4, values=("wall_ns", "no_such"))
    result = alternate(plan, run=invented(COSTS))
    by = {(row["arm"], row["value"]): row for row in result["comparisons"]}
    assert by["twice", "wall_ns"]["ratio"]["value"] == pytest.approx(2)
    assert by["half", "wall_ns"]["ratio"]["value"] == pytest.approx(0.5)
    assert by["half", "wall_ns"]["direct_cpu_share"] == pytest.approx(0.02)
    assert by["half", "no_such"]["ratio"]["value"] is None
    text = table(result)
    assert "demo: 4 blocks, seed 0" in text
    assert "2.00 %" in text


def test_a_failed_run_leaves_its_pair_out_and_is_told() -> None:
    run = invented(COSTS, failing={("twice", 1), ("base", 2)})
    result = alternate(Plan("demo", ARMS, blocks=4, values=("wall_ns",)), run=run)
    by = {row["arm"]: row for row in result["comparisons"]}
    assert (by["twice"]["ratio"]["n"], by["twice"]["left_out_pairs_count"]) == (2, 2)
    assert (by["half"]["ratio"]["n"], by["half"]["left_out_pairs_count"]) == (3, 1)
    assert "2 runs failed, first: why" in table(result)


def test_warm_up_blocks_are_kept_but_not_compared(tmp_path: Path) -> None:
    plan = Plan("demo", ARMS, blocks=2, warmup_blocks=1, canary=lambda: {"alu_ns": 1.0})
    output = tmp_path / "b.json"
    alternate(plan, output, run=invented(COSTS))
    result = json.loads(output.read_text())
    assert sorted({s["block"] for s in result["samples"]}) == [-1, 0, 1]
    assert all(row["ratio"]["n"] == 2 for row in result["comparisons"])
    assert result["samples"][0]["canary"] == {"alu_ns": 1.0}
    assert [file.name for file in tmp_path.iterdir()] == ["b.json"]


def test_an_interrupted_benchmark_keeps_its_whole_blocks(tmp_path: Path) -> None:
    inner, calls = invented(COSTS), []

    def run(arm: Arm, timeout_s: float | None) -> tuple[Any, Metrics]:
        calls.append(arm)
        if len(calls) > 7:
            raise KeyboardInterrupt
        result: tuple[Any, Metrics] = inner(arm, timeout_s)
        return result

    output = tmp_path / "b.json"
    with pytest.raises(KeyboardInterrupt):
        alternate(Plan("demo", ARMS, blocks=9), output, run=run)
    assert len(json.loads(output.read_text())["samples"]) == 6


def test_arms_must_differ() -> None:
    for arms in (ARMS[:1], (ARMS[0], ARMS[0])):
        with pytest.raises(ValueError, match="two arms"):
            Plan("x", arms, blocks=1)


def test_a_process_is_charged_with_its_children() -> None:
    burner = "t=__import__('time').process_time\nwhile t() < 0.3: pass"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {burner!r}])"
    finished, metrics = execute(Arm("a", python(code)))
    assert finished.exit_code == 0
    assert finished.cpu_ns >= 300_000_000
    assert metrics == {}


@pytest.mark.slow
def test_a_function_runs_in_a_fresh_process_and_its_numbers_come_back() -> None:
    finished, metrics = execute(Arm.of_function("burn", burn, 0.1))
    assert finished.exit_code == 0, finished.stderr_tail
    assert metrics == {"burnt_ns": 1e8}
    assert finished.cpu_ns >= 100_000_000
    with pytest.raises(ValueError, match="cannot be imported"):
        Arm.of_function("local", lambda: None)


def test_metrics_see_the_folder_and_output_before_they_are_gone() -> None:
    code = (
        "import sys; open(sys.argv[1] + '/x', 'w').write('7'); print('{\"a\": 1, \"b\": \"no\"}')"
    )
    seen: list[Path] = []

    def look(finished: Any) -> Metrics:
        seen.append(finished.folder)
        return {"x": float((finished.folder / "x").read_text()), **harness_last(finished)}

    from benchmarks.execute import last_line_json as harness_last

    _, metrics = execute(Arm("a", (*python(code), "{folder}"), metrics=look))
    assert metrics == {"x": 7.0, "a": 1}
    assert not seen[0].exists()


def test_a_run_past_its_limit_is_killed_with_its_children() -> None:
    code = "import subprocess; subprocess.run(['sleep', '60'])"
    finished, metrics = execute(Arm("a", python(code)), timeout_s=0.3)
    assert finished.exit_code == -9
    assert finished.wall_ns < 30e9
    assert metrics == {}


def test_the_shell_form(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    output = tmp_path / "o.json"
    arguments = ["--blocks", "2", "--seed", "1", "-o", str(output)]
    arms = ["--arm", "a=true", "--arm", "b=sh -c 'exit 4'"]
    assert harness.main([*arguments, *arms]) == 1
    assert "2 runs failed" in capsys.readouterr().out
    assert json.loads(output.read_text())["schema"] == "pyrometer/benchmark/1"
    with pytest.raises(SystemExit) as refused:
        harness.main(["--arm", "nothing"])
    assert refused.value.code == 2
