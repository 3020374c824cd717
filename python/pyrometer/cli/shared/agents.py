"""Option ``--agents`` of the verbs that read what agents of hosts shipped."""

from __future__ import annotations

from typing import Annotated

import typer

AgentsOption = Annotated[
    str | None,
    typer.Option(
        "--agents",
        metavar="STORE",
        envvar="PYROMETER_AGENTS",
        help="Folder that agents ship to which run as services on the hosts of a cluster. That of"
        " spark.pyrometer.ship.to is looked into anyway.",
        show_default=False,
    ),
]


def checked(agents: str | None) -> str | None:
    """Check the value of the option.

    Raises
    ------
    UsageError
        If it is neither an absolute path nor a URL.
    """
    from pyrometer.collect.launch.environment import store_of_agents

    return store_of_agents(agents, f"--agents {agents}") if agents else None
