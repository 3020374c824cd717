"""The confirmation: what it says, how often it is wrong where there is no gain, and how much more
it asks for.
"""

from __future__ import annotations

import numpy as np
import pytest

from pyrometer.tune.believe.verdict import FEWEST, Verdict, judge, risk


def _pairs(
    rng: np.random.Generator, blocks: int, gain: float = 0.0, noise: float = 0.03
) -> list[tuple[float, float]]:
    level = np.exp(rng.normal(0, 0.1, blocks))
    a, b = np.exp(rng.normal(0, noise, (2, blocks)))
    return [(10 * x, 10 * y * (1 - gain)) for x, y in zip(level * a, level * b, strict=True)]


def _rate(found: list[Verdict], outcome: str) -> float:
    return sum(one.outcome == outcome for one in found) / len(found)


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [3, 5, 10])
def test_what_does_nothing_is_rarely_confirmed(blocks: int) -> None:
    rng = np.random.default_rng(1)
    found = [judge(_pairs(rng, blocks)) for _ in range(200)]
    # 2.5 % of 200 with three deviations of the binomial.
    assert _rate(found, "confirmed") <= 0.025 + 3 * (0.025 * 0.975 / 200) ** 0.5


@pytest.mark.slow
def test_adding_blocks_until_it_is_confirmed_does_not_make_gains() -> None:
    rng = np.random.default_rng(2)
    confirmed = 0
    for _ in range(80):
        pairs, looks = _pairs(rng, 12, noise=0.1), []
        for blocks in (3, 4, 5, 6, 8, 10, 12):
            verdict = judge(pairs[:blocks], looks=looks)
            looks.append(blocks)
            if verdict.outcome != "cannot tell":
                confirmed += verdict.outcome == "confirmed"
                break
    assert confirmed / 80 <= 0.05


def test_a_clear_gain_is_confirmed_and_its_interval_holds_it() -> None:
    rng = np.random.default_rng(3)
    found = [judge(_pairs(rng, 6, gain=0.2)) for _ in range(100)]
    assert _rate(found, "confirmed") > 0.95
    held = [one.change.low <= -0.2 <= one.change.high for one in found]  # type: ignore[operator]
    assert sum(held) >= 90


def test_a_loss_is_told_as_one() -> None:
    assert judge(_pairs(np.random.default_rng(4), 6, gain=-0.2)).outcome == "slower"


def test_sameness_needs_evidence_and_has_a_bound() -> None:
    close = judge(_pairs(np.random.default_rng(5), 30, noise=0.01))
    assert close.outcome == "no difference"
    assert close.bound is not None
    assert close.bound < 0.02
    assert close.more_blocks is None


def test_what_cannot_be_told_says_how_many_blocks_are_missing() -> None:
    found = judge([(10.0, 9.0), (10.0, 10.5), (10.0, 9.1), (10.0, 9.9)])
    assert found.outcome == "cannot tell"
    assert found.more_blocks is not None
    assert found.more_for_margin is not None
    assert 1 <= found.more_blocks <= found.more_for_margin


def test_two_blocks_confirm_nothing() -> None:
    found = judge([(10.0, 5.0), (10.0, 5.01)])
    assert (found.outcome, found.reason) == ("cannot tell", f"2 of at least {FEWEST} blocks")


def test_times_that_do_not_vary_confirm_nothing() -> None:
    found = judge([(10.0, 8.0)] * 4)
    assert (found.outcome, found.reason) == ("cannot tell", "the values do not vary")
    assert found.bound is None


def test_no_blocks_is_no_number() -> None:
    found = judge([])
    assert found.outcome == "cannot tell"
    assert found.change.value is None
    assert found.bound is None


def test_an_incumbent_that_failed_is_never_confirmed() -> None:
    found = judge([(10.0, 8.0), (10.1, 8.1), (9.9, 8.0), (10.0, 8.1)], failures=1)
    assert found.outcome == "failed"
    assert "once" in (found.reason or "")


def test_an_unstable_incumbent_is_seen() -> None:
    rng = np.random.default_rng(7)
    steady, wild = np.exp(rng.normal(0, 0.02, 12)), np.exp(rng.normal(0, 0.2, 12))
    found = judge([(10 * a, 5 * b) for a, b in zip(steady, wild, strict=True)])
    assert found.outcome == "confirmed"
    assert found.spread_ratio.low is not None
    assert found.spread_ratio.low > 1


def test_later_verdicts_are_stricter_and_their_risks_stay_below_five_per_cent() -> None:
    assert sum(risk(look) for look in range(1, 60)) <= 0.05
    pairs = [(10.0, 9.4), (10.0, 9.7), (10.0, 9.3), (10.0, 9.8), (10.0, 9.2)]
    first, later = judge(pairs), judge(pairs, looks=(3, 4))
    assert later.change.low < first.change.low  # type: ignore[operator]
    assert later.looks == 3
    with pytest.raises(ValueError, match="as many blocks"):
        judge(pairs, looks=(5,))
