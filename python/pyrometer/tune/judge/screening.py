"""What a screening at a stand-in showed of each factor, and which ones it dropped."""

from __future__ import annotations

from pyrometer.tune.advise.own import Own
from pyrometer.tune.engine import adviser_of
from pyrometer.tune.judge.schema import ScreenedReport
from pyrometer.tune.trials.folder import Tuning
from pyrometer.tune.trials.replay import History, made, retell

SCREENS = ("own", "three-knobs")
"""Engines that screen."""


def screened(tuning: Tuning, history: History) -> list[ScreenedReport]:
    """Report on a screening, the largest effect first; empty where there was none."""
    offered = any(one.left_out is None for one in history.offers.values())
    if tuning.engine not in SCREENS or not offered:
        return []
    adviser = made(adviser_of, tuning)
    if not isinstance(adviser, Own):
        return []
    retell(adviser, tuning, history)
    dropped = adviser.dropped()
    return [
        ScreenedReport(
            factor=one.factor, level=one.level, effect=one.effect, dropped=one.factor in dropped
        )
        for one in adviser.screened()
    ]
