"""The account of plain processes as a part of one screen: short, whatever ran."""

from __future__ import annotations

import io

from rich.console import Console

from pyrometer.accounts.annotations import Account, ProcessAccount, WaitTime
from pyrometer.accounts.ledger.schema import View
from pyrometer.accounts.terminal import account_lines
from pyrometer.terminal.drawing import Look, put

MANY = 50


def printed(brief: bool) -> list[str]:
    processes = [
        ProcessAccount(
            pid=n, comm=f"p{n}", threads_count=1, followed_ns=9, on_cpu_ns=1, run_queue_ns=0
        )
        for n in range(MANY)
    ]
    waits = [
        WaitTime(wait_class="network", syscall=f"s{n}", time_ns=9, share=0.1) for n in range(MANY)
    ]
    account = Account(view=View(window="all", total_ns=10**9), processes=processes, waits=waits)
    console = Console(file=io.StringIO(), width=80)
    put(console, account_lines(account, Look.of(console), brief=brief))
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined]


def test_on_one_screen_it_is_short_and_says_how_much_is_left_out() -> None:
    lines = printed(brief=True)
    assert len(lines) <= 14
    assert any(line.strip() == f"and {MANY - 3} more" for line in lines)
    assert "" not in [line.strip() for line in lines]


def test_on_its_own_it_has_more() -> None:
    assert len(printed(brief=False)) > len(printed(brief=True)) + 10
