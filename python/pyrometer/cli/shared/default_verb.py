"""A verb with subcommands whose first word may be left out: ``pyrometer tune WORKLOAD``."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


class DefaultVerb(TyperGroup):
    """A group in which what is no subcommand is given to the first one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the first subcommand before words that begin with none."""
        helps = set(ctx.help_option_names)
        if args and args[0] not in self.commands and args[0] not in helps:
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)
