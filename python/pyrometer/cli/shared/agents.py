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
        help="Store of agents that run as services on the hosts of a cluster: a folder, or an"
        " address (s3://BUCKET/PREFIX, gs://, abfs://, hdfs://). That of spark.pyrometer.ship.to is"
        " looked into anyway.",
        show_default=False,
    ),
]


def checked(agents: str | None) -> str | None:
    """Check the value of the option.

    Raises
    ------
    UsageError
        If it is neither an absolute path nor a URL, or holds credentials.
    CapabilityError
        If what reads it is not installed.
    """
    from pyrometer.collect.launch.environment import store_of_agents

    return store_of_agents(agents, f"--agents {agents}") if agents else None
