"""``pyrometer agent``: the agent for hosts of a cluster, what installs it, and its store."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyrometer.cli.shared.default_verb import DefaultVerb
from pyrometer.cli.shared.endings import read_or_not
from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.core.installation import reinstall
from pyrometer.terminal import console as common
from pyrometer.terminal.console import JsonOption

if TYPE_CHECKING:
    from pyrometer.store.services.aged import Batch


class Rights(StrEnum):
    """Values of ``--access``."""

    all = "all"
    processes = "processes"
    own = "own"


class Machine(StrEnum):
    """Values of ``--machine``, as the plugin's jar names them."""

    x64 = "linux-x64"
    arm64 = "linux-arm64"


EXAMPLES = """\b
Examples:
  pyrometer agent --to file:///mnt/shared/pyrometer -o agent
  pyrometer agent --to file:///mnt/shared/pyrometer --access own --user spark -o agent
  pyrometer agent --to s3://bucket/pyrometer --programs target/release -o agent
  pyrometer agent prune /mnt/shared/pyrometer --older-than 14d
  pyrometer agent prune s3://bucket/pyrometer --older-than 14d --remove
"""

app = typer.Typer(
    cls=DefaultVerb,
    help="Write the agent for hosts of a cluster, and what installs it: systemd, Ansible,"
    " Kubernetes.",
)


@app.callback(no_args_is_help=True, epilog=EXAMPLES)
def agent() -> None:
    """Write the agent for hosts of a cluster, and what installs it: systemd, Ansible, Kubernetes.

    ``pyrometer agent --to STORE`` is short for ``pyrometer agent write --to STORE``.
    """


@app.command(epilog=EXAMPLES)
def write(
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
    own: Annotated[
        Path | None,
        typer.Option(
            "--programs",
            metavar="FOLDER",
            help="Folder with a pyro-agent of your own, such as one that was built for object"
            " stores, and a pyro-probe. Programs missing there, or all by default, come from the"
            " package.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write the agent for hosts of a cluster, and what installs it.

    Needed only where the plugin cannot start it or should not: executors that pyrometer run
    starts bring their own. Exit code: 0, 2 for a mistake in the options, 3 if this installation
    has no agent for those machines.
    """
    from pyrometer.collect.agent import folder
    from pyrometer.collect.agent.access import LEVELS

    if to.startswith("/"):
        to = f"file://{to}"
    folder.checked(to, user, image)
    binaries = _binaries(machine.value, own, to)
    rights = LEVELS[access.value]
    texts = folder.written(to, rights, user, image, canary)
    folder.write(output, binaries, texts)
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


@app.command(epilog=EXAMPLES)
def prune(
    store: Annotated[
        str,
        typer.Argument(
            metavar="STORE",
            help="Folder or address that agents ship to, as in their --to.",
            show_default=False,
        ),
    ],
    older_than: Annotated[
        str,
        typer.Option(
            "--older-than",
            metavar="DAYS",
            help="Age of the newest chunk of what is removed, such as 14d; a day at least.",
            show_default=False,
        ),
    ],
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove it; without, it is only listed.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List what is old in a store that agents ship to, and remove it with --remove.

    Whole applications and whole days of hosts go at a time, and only what agents put there: a part
    that holds anything else stays. Exit code: 0, 2 if the store cannot be read or written.
    """
    import re
    import time

    from pyrometer.collect.launch.environment import store_of_agents
    from pyrometer.core import units
    from pyrometer.store.services.prune import agents_store

    said = re.fullmatch(r"([1-9][0-9]{0,4})d?", older_than, re.ASCII)
    if said is None:
        raise UsageError(f"--older-than {older_than}: not a number of days", "--older-than 14d")
    place = store_of_agents(store, store)
    there = agents_store(place)
    before_ns = time.time_ns() - int(said[1]) * 86_400 * 10**9
    found = there.batches()
    old = [one for one in found if one.is_old(before_ns)]
    console = common.human(as_json)
    for one in found:
        if one.stays is not None:
            _say(console, f"stays: {one.name}: {one.stays}")
    for one in old:
        count = there.remove(one, before_ns) if remove else one.chunks_count
        what = f"{units.counted(count, 'chunk')}, {units.size(one.size_bytes)}"
        _say(console, f"{'removed' if remove else 'would remove'}: {one.name} ({what})")
    total = units.size(sum(one.size_bytes for one in old))
    age = units.counted(int(said[1]), "day")
    end = f"{units.counted(len(old), 'part')} of {len(found)}, {total}, older than {age}"
    console.print(
        end if remove or not old else f"{end}; --remove removes them", markup=False, soft_wrap=True
    )
    if as_json:
        common.emit_json(
            {
                "schema": "pyrometer/agent-prune/1",
                "removed": remove,
                "old": [_told(one) for one in old],
                "stays": [
                    {"name": one.name, "why": one.stays} for one in found if one.stays is not None
                ],
            }
        )


def _binaries(machine: str, own: Path | None, to: str) -> dict[str, bytes]:
    """Read the programs to be written, which can write to the store."""
    from pyrometer._artifacts import plugin_jar
    from pyrometer.collect.agent.own_programs import AGENT, refuses, with_own
    from pyrometer.collect.agent.programs import programs

    found = programs(plugin_jar())
    binaries = found.get(machine, {})
    if own is not None:
        binaries = with_own(own, machine, binaries)
    if not binaries:
        here = ", ".join(sorted(found)) or "none"
        raise CapabilityError(
            f"no agent for {machine} in this installation (for: {here})",
            "run it where Pyrometer is installed on such a machine" if found else reinstall(),
        )
    if not to.startswith("file:") and refuses(binaries[AGENT], to):
        raise UsageError(
            f"--to {to}: the agent in {own or 'the package'} writes to folders only",
            "build one in a checkout of Pyrometer (cargo build --locked --release -p pyro-agent"
            " --features objects) and give it: --programs target/release; or give a folder that"
            " all hosts share: --to file:///mnt/shared/pyrometer",
        )
    return binaries


def _say(console: common.Console, text: str) -> None:
    """Print a line; what is still to be removed is removed also where nobody reads it."""
    with read_or_not():
        console.print(text, markup=False, soft_wrap=True)


def _told(one: Batch) -> dict[str, Any]:
    return {
        "name": one.name,
        "folders": sorted(one.folders),
        "chunks_count": one.chunks_count,
        "size_bytes": one.size_bytes,
        "newest_wall_ns": one.newest_ns,
    }
