"""``pyrometer agent``: the agent for hosts of a cluster, and what installs it there."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.core.installation import reinstall
from pyrometer.terminal import console as common
from pyrometer.terminal.console import JsonOption


class Rights(StrEnum):
    """Values of ``--access``."""

    all = "all"
    processes = "processes"
    own = "own"


class Machine(StrEnum):
    """Values of ``--machine``, as the plugin's jar names them."""

    x64 = "linux-x64"
    arm64 = "linux-arm64"


app = typer.Typer()

EXAMPLES = """\b
Examples:
  pyrometer agent --to file:///mnt/shared/pyrometer -o agent
  pyrometer agent --to file:///mnt/shared/pyrometer --access own --user spark -o agent
"""


@app.command(epilog=EXAMPLES)
def agent(
    to: Annotated[
        str,
        typer.Option("--to", metavar="URL", help="Store that hosts ship to.", show_default=False),
    ],
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="FOLDER", help="New folder.", show_default=False),
    ],
    access: Annotated[
        Rights,
        typer.Option(
            "--access",
            help="What the agent may do on a host: all (tier T0), see all"
            " processes (T2), or those of one user (own).",
        ),
    ] = Rights.all,
    user: Annotated[
        str, typer.Option("--user", help="Whom the service runs as with --access own.")
    ] = "spark",
    image: Annotated[
        str, typer.Option("--image", help="Image that pods run; a Dockerfile makes it.")
    ] = "pyro-agent:latest",
    canary: Annotated[
        int,
        typer.Option(
            "--canary",
            metavar="SECONDS",
            min=0,
            max=86400,
            help="Time between canaries of a host, measured while no executor is there; 0: none.",
        ),
    ] = 60,
    machine: Annotated[
        Machine, typer.Option("--machine", help="Machine of the hosts.")
    ] = Machine.x64,
    as_json: JsonOption = False,
) -> None:
    """Write the agent for hosts of a cluster, and what installs it: systemd, Ansible, Kubernetes.

    Needed only where the plugin cannot start it or should not: executors that pyrometer run
    starts bring their own. Exit code: 0, 2 for a mistake in the options, 3 if this installation
    has no agent for those machines.
    """
    from pyrometer._artifacts import plugin_jar
    from pyrometer.collect.agent.access import LEVELS
    from pyrometer.collect.agent.folder import checked, write, written
    from pyrometer.collect.agent.programs import programs

    if to.startswith("/"):
        to = f"file://{to}"
    checked(to, user, image)
    if to.startswith(("s3:", "gs:", "abfss:")):
        raise UsageError(
            f"--to {to}: the agent in the package writes to folders only",
            "build one with cargo build --release -p pyro-agent --features objects,"
            " or give a folder that all hosts share: --to file:///mnt/shared/pyrometer",
        )
    found = programs(plugin_jar())
    binaries = found.get(machine.value)
    if binaries is None:
        here = ", ".join(sorted(found)) or "none"
        raise CapabilityError(
            f"no agent for {machine.value} in this installation (for: {here})",
            "run it where Pyrometer is installed on such a machine" if found else reinstall(),
        )
    rights = LEVELS[access.value]
    texts = written(to, rights, user, image, canary)
    write(output, binaries, texts)
    console = common.human(as_json)
    lines = (
        f"{output} holds the agent for {machine.value}, and what installs it:",
        f"  ansible-playbook -i HOSTS {output}/playbook.yml",
        f"  docker build -t {image} {output}",
        f"  kubectl apply -f {output}/daemonset.yaml",
        f"  helm install pyro-agent {output}/chart",
        f"It sees: {rights.sees}.",
    )
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)
    if as_json:
        names = sorted([*binaries, *texts])
        common.emit_json(
            {
                "schema": "pyrometer/agent/1",
                "folder": str(output),
                "machine": machine.value,
                "access": rights.level,
                "capabilities": list(rights.capabilities),
                "sees": rights.sees,
                "files": names,
            }
        )
