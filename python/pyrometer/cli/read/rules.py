"""``pyrometer rules [CODE]``: the causes that ``explain`` looks for, and the manual of each."""

from __future__ import annotations

from typing import Annotated

import typer

from pyrometer.cli.shared.verifying import VerdictsOption, kept_in
from pyrometer.terminal.console import JsonOption, emit_json, human

app = typer.Typer()

EXAMPLES = """\b
Examples:
  pyrometer rules
  pyrometer rules gc.heap-too-small
  pyrometer rules gc
  pyrometer rules --json | jq '.rules[] | {code, tried: .record.tried_count}'
"""


@app.command(epilog=EXAMPLES)
def rules(
    code: Annotated[
        str | None,
        typer.Argument(metavar="[CODE]", help="A rule, or a family of rules.", show_default=False),
    ] = None,
    as_json: JsonOption = False,
    verdicts: VerdictsOption = None,
) -> None:
    """List the causes that explain looks for, or print the manual of one."""
    from pyrometer.explain import rule_terminal
    from pyrometer.explain.every_rule import every_rule
    from pyrometer.explain.rule_list import rule_list
    from pyrometer.verification.record import records

    _, kept = kept_in(verdicts)
    found = rule_list(every_rule(), records(kept.verdicts), code)
    one = next((rule for rule in found.rules if rule.code == code), None)
    if one is not None:
        rule_terminal.show_manual(human(as_json), one)
    else:
        rule_terminal.show_rules(human(as_json), found.rules)
    if as_json:
        emit_json(found)
