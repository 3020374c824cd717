"""Rules in the terminal: all by family, or the manual of one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pyrometer.explain import words
from pyrometer.explain.manual import paragraphs
from pyrometer.explain.rule_list import RuleFacts
from pyrometer.terminal.drawing import heading, indented, put, safe

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

NOT_TRIED = "not tried yet"


def show_rules(console: Console, rules: Sequence[RuleFacts]) -> None:
    """List rules by family: code, title, and how their findings fared when they were tried."""
    put(console, _listed(rules))


def show_manual(console: Console, rule: RuleFacts) -> None:
    """Print the manual of a rule."""
    put(console, _manual(rule))


def _listed(rules: Sequence[RuleFacts]) -> Iterator[RenderableType]:
    families = [list(those) for _, those in groupby(rules, lambda rule: rule.family)]
    count = f"{len(rules)} rule{'s' * (len(rules) != 1)}"
    of = "family" if len(families) == 1 else "families"
    yield Text.from_markup(f"[bold]{count} in {len(families)} {of}[/]")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("rule", no_wrap=True)
    table.add_column("finding")  # folded where it has no room
    for rule in rules:
        fared = words.earlier(rule.record)
        table.add_row(safe(rule.code), safe(rule.title) + (f"\n[dim]{fared}[/]" if fared else ""))
    yield indented(table)
    yield Text("")
    if not any(rule.record.tried_count for rule in rules):
        tried = "No finding was tried here yet: pyrometer explain RUN --verify does it."
        yield Text(tried, style="dim")
    yield Text("Manual of a rule: pyrometer rules CODE", style="dim")


def _manual(rule: RuleFacts) -> Iterator[RenderableType]:
    yield Text.from_markup(f"[bold]{safe(rule.title)}[/] [dim]{safe(rule.code)}[/]")
    yield _paragraph(rule.summary, 0)
    for title, text in rule.manual.items():
        yield heading(title)
        for number, one in enumerate(paragraphs(text)):
            if number and not one.startswith(("- ", "* ")):
                yield Text("")
            yield _paragraph(one, 2)
    yield heading("Refute a finding")
    yield _paragraph(rule.refute, 2)
    for need in rule.needs:
        yield _paragraph(f"Needs: {need}", 2)
    if rule.explains:
        yield _paragraph(f"Explains also: {', '.join(_named(one) for one in rule.explains)}", 2)
    yield Text("")
    yield Text(f"Findings of this rule: {words.earlier(rule.record) or NOT_TRIED}.", style="dim")


def _named(code: str) -> str:
    return f"{code}*" if code.endswith(".") else code


def _paragraph(text: str, columns: int) -> RenderableType:
    marked = re.sub(r"`+([^`]+)`+", r"[cyan]\1[/]", safe(text))
    return Padding(Text.from_markup(marked), (0, 0, 0, columns), expand=False)
