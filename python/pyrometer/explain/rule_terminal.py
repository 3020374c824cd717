"""Rules in the terminal: all by family, or the manual of one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from pyrometer.core import units
from pyrometer.explain import words
from pyrometer.explain.manual import paragraphs
from pyrometer.explain.rule_list import RuleFacts
from pyrometer.explain.schema import Record
from pyrometer.terminal.drawing import Justify, Look, grid, heading, indented, put, safe

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

NOT_TRIED = "not tried yet"


def show_rules(console: Console, rules: Sequence[RuleFacts]) -> None:
    """List rules by family: code, title, and how their findings fared when they were tried."""
    put(console, _listed(rules, Look.of(console)))


def show_manual(console: Console, rule: RuleFacts) -> None:
    """Print the manual of a rule."""
    put(console, _manual(rule))


def _listed(rules: Sequence[RuleFacts], look: Look) -> Iterator[RenderableType]:
    families = [list(those) for _, those in groupby(rules, lambda rule: rule.family)]
    count = f"{len(rules)} rule{'s' * (len(rules) != 1)}"
    of = "family" if len(families) == 1 else "families"
    yield Text.from_markup(f"[bold]{count} in {len(families)} {of}[/]")
    rows = [(safe(rule.code), safe(rule.title), *_record(rule.record)) for rule in rules]
    columns: list[tuple[str, Justify]] = [("rule", "left"), ("finding", "left")]
    columns += [("tried", "right"), ("proven", "right"), ("off by", "right")]
    yield indented(grid(look, columns, rows, 1))
    yield Text("")
    yield Text("manual of one: pyrometer rules CODE", style="dim")


def _record(one: Record) -> tuple[str, str, str]:
    """Give how often findings were tried and proven, and how far off their predictions were."""
    if not one.tried_count:
        return units.MISSING, units.MISSING, units.MISSING
    return str(one.tried_count), str(one.proven_count), units.percent(one.error_ratio)


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
