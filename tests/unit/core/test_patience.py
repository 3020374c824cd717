"""Time-outs that are longer where the processor is emulated."""

from __future__ import annotations

import sys

import pytest

from pyrometer.core.patience import VARIABLE, patient
from pyrometer.workloads import canary

MEDIANS = '{"alu_ns": [2], "latency_ns": [90], "copy_bytes_per_s": [1e9]}'


@pytest.mark.parametrize("times", ["", "0", "-2", "often", "nan", "1"])
def test_what_is_no_number_of_times_is_once(times: str) -> None:
    assert patient(5, {VARIABLE: times}) == 5


def test_times_are_bounded() -> None:
    assert patient(5, {VARIABLE: "20"}) == 100
    assert patient(5, {VARIABLE: "9" * 30}) == 5000


def test_a_program_that_takes_long_there_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canary, "LONGEST_S", 0.1)
    slow = (sys.executable, "-c", f"import time; time.sleep(0.5); print('{MEDIANS}')")
    assert "TimeoutExpired" in str(canary.measure(slow)["reason"])
    monkeypatch.setenv(VARIABLE, "1000")
    assert canary.measure(slow)["alu_ns"] == 2.0
