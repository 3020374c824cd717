"""Which options stand on the command line, whatever their values are by default."""

from __future__ import annotations

import typer


def typed(context: typer.Context, *names: str) -> list[str]:
    """Give those of some parameters that were typed, as options are written.

    Parameters
    ----------
    *names : str
        Names of parameters of the verb's function.
    """
    found = []
    for option in context.command.params:
        source = context.get_parameter_source(str(option.name))
        if option.name in names and source is not None and source.name == "COMMANDLINE":
            found.append(max(option.opts, key=len))
    return found
