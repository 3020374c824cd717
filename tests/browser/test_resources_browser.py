"""Memory and code of a run in a real browser: values as they are, reasons where there are none."""

from __future__ import annotations

from typing import Any

import pytest
from tests.browser.conftest import Browser
from tests.support.report_fixture import manifest
from tests.support.summary_fixture import summary

from pyrometer.accounts.machine_schema import Disk, Disks
from pyrometer.accounts.memory import Allocation, Code, CodeKind, Faults, Memory, Swap
from pyrometer.accounts.memory_waits import MemoryWait, MemoryWaits
from pyrometer.core.estimate import Estimate
from pyrometer.report.data import build

pytestmark = pytest.mark.browser


def page_of(browser: Browser, **blocks: Any) -> Browser:
    return browser.open(build(summary() | blocks, manifest(), None))


def rows(page: Browser) -> list[list[str]]:
    found: list[list[str]] = page.js(
        "return [...document.querySelectorAll('#resources tr')]"
        ".map((row) => [...row.children].map((cell) => cell.textContent))"
    )
    return found


def test_values_and_reasons(browser: Browser) -> None:
    memory = Memory(
        allocation=Allocation(allocated_bytes=55_823_219_456, bytes_per_s=567_356_778.4),
        faults=Faults(minor_count=599_256, major_count=9),
        swap=Swap(reason="the OS probe did not run"),
        waits=MemoryWaits(
            kinds=[
                MemoryWait(
                    kind="reclaim",
                    share=0.031,
                    time_ns=Estimate(
                        value=2e9, low=1.5e9, high=3e9, level=1.0, n=4, method="bounds"
                    ),
                ),
                MemoryWait(kind="compaction", reason="this kernel does not count it"),
            ]
        ),
    )
    share = Estimate(value=4e9, low=3e9, high=5e9, level=0.95, n=900, method="wilson")
    code = Code(
        kinds=[
            CodeKind(kind="interpreted", on_cpu_ns=4_000_000_000, estimate=share, share=0.2),
            CodeKind(kind="c2", on_cpu_ns=16_000_000_000, share=0.8),
        ]
    )
    page = page_of(browser, memory=memory.model_dump(), code=code.model_dump())
    assert page.complaints() == []
    assert rows(page) == [
        ["Allocated by tasks ?", "52.0 GiB", ""],
        ["… per second ?", "541 MiB/s", ""],
        ["Minor page faults ?", "599 256", ""],
        ["Major page faults ?", "9", ""],
        ["Swapped out, peak ?", "–", "the OS probe did not run"],
        ["Read from swap by the host ?", "–", "the OS probe did not run"],
        ["Written to swap by the host ?", "–", "the OS probe did not run"],
        ["Direct reclaim in tasks ?", "2.00 s (1.50 s – 3.00 s), 3.10 % of task time", ""],
        ["Compaction in tasks ?", "–", "this kernel does not count it"],
    ]
    bars = page.all_texts("#resources .hbar")
    assert bars == ["interpreted4.00 s20.0 %", "compiled by C216.0 s80.0 %"]
    assert page.js("return document.querySelectorAll('#resources .whisker').length") == 1


def test_block_devices_say_which_of_them_lie_on_others(browser: Browser) -> None:
    def mean(value: float) -> Estimate:
        return Estimate(value=value, low=0.9 * value, high=1.1 * value, level=1.0, n=9, method="x")

    common = {"requests_count": 500, "read_bytes": 1 << 30, "written_bytes": 1 << 20}
    disks = Disks(
        devices=[
            Disk(
                device="dm-0", lies_on_others=True, await_ns=mean(1.7e6), read_await_ns=mean(2e6),
                queue_depth=1.53, busy_ratio=0.451, **common,
            ),
            Disk(device="md0", reason="this kernel keeps no times of requests", **common),
        ]
    )  # fmt: skip
    shown = summary()
    page = page_of(browser, io=shown["io"] | {"disks": disks.model_dump()})
    assert page.complaints() == []
    cells: list[list[str]] = page.js(
        "return [...document.querySelectorAll('#waits table')]"
        ".filter((one) => one.caption?.textContent.startsWith('Block devices'))"
        ".flatMap((one) => [...one.tBodies[0].rows])"
        ".map((row) => [...row.children].map((cell) => cell.textContent))"
    )
    assert cells == [
        ["dm-0", "500", "1.00 GiB", "1.00 MiB", "1.70 ms", "2.00 ms", "–", "1.53", "45.1 %",
         "lies on other devices: its requests are counted on them again"],
        ["md0", "500", "1.00 GiB", "1.00 MiB", "–", "–", "–", "–", "–",
         "this kernel keeps no times of requests"],
    ]  # fmt: skip


def test_without_profiler_and_probe(browser: Browser) -> None:
    page = page_of(
        browser,
        memory=Memory(
            allocation=Allocation(reason="no plugin"), faults=Faults(reason="no probe"),
            swap=Swap(reason="no probe"),
        ).model_dump(),
        code=Code(reason="the profiler took no samples").model_dump(),
    )  # fmt: skip
    # A section without a number is left out; the line of what is missing says why.
    assert rows(page) == []
    assert {"no plugin", "the profiler took no samples"} & set(page.all_texts("#absent dd"))
    assert page.complaints() == []
