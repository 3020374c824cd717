"""``pyrometer push RUN``: profiles to a Pyroscope server, while the run goes on or afterwards."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pyrometer.cli.shared.endings import ending_with
from pyrometer.cli.shared.run_named import local_path
from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.push.options import BY, LABELS, TENANT, TOKEN_FILE, USER
from pyrometer.terminal.console import JsonOption, emit_json, err, human

if TYPE_CHECKING:
    from pyrometer.push.follower import Follower
    from pyrometer.push.sent import Sent
    from pyrometer.store.manifest import Manifest


app = typer.Typer()

EVERY = "10s"
EXAMPLES = """
Examples:

  pyrometer push pyrometer-runs/… --to http://localhost:4040\n
  pyrometer push RUN --to http://localhost:4040 --follow --label cluster=blue\n
  pyrometer push RUN --to https://profiles-prod-001.grafana.net --user 12345 --token-file token
"""


@app.command(epilog=EXAMPLES, no_args_is_help=True)
def push(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN", parser=local_path, help="A run directory; it may still be growing."
        ),
    ],
    to: Annotated[str, typer.Option("--to", metavar="URL", help="URL of the Pyroscope server.")],
    follow: Annotated[
        bool, typer.Option("--follow", help="Keep sending until the run ends.")
    ] = False,
    label: Annotated[
        list[str],
        typer.Option(
            "--label", metavar="NAME=VALUE", envvar=LABELS,
            help="Label for every profile; repeatable. service_name=… replaces the"
            " application's name.",
        ),
    ] = [],  # noqa: B006
    every: Annotated[
        str, typer.Option(metavar="TIME", help="Length of a profile: 1s, 10s, 1m.")
    ] = EVERY,
    by: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="What to label samples with: any of stage,operator,sql,thread_role,state.",
        ),
    ] = ",".join(BY),
    tenant: Annotated[
        str | None,
        typer.Option(metavar="ID", envvar=TENANT, help="X-Scope-OrgID."),
    ] = None,
    user: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", envvar=USER,
            help="User name; the token is the password.",
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", envvar=TOKEN_FILE,
            help="File that holds the token, so that it is in no argument.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:  # fmt: skip
    """Send a run's profiles to a Pyroscope server, labelled by executor, stage and operator.

    Each profile is sent once, however often the verb is called: what was sent is kept in the run
    directory. Exit code 3 if the server did not take all that this call had to send.
    """
    from pyrometer.push.delivery import Delivery, Patience
    from pyrometer.push.follower import Follower, Names
    from pyrometer.push.options import make_server, read_settings
    from pyrometer.push.sent import Sent
    from pyrometer.store.manifest import read_manifest
    from pyrometer.store.paths import RunPaths

    server = make_server(to, tenant, user, token_file)
    settings = read_settings(label, every, by)
    manifest = read_manifest(run)
    paths = RunPaths(run)
    account = Sent(paths.raw, server.address, tenant)
    delivery = Delivery(server, account, Patience(), say)
    workload = manifest.workload.name or (manifest.workload.command or ["spark"])[0]
    names = Names(manifest.run_id, Path(workload).name)
    follower = Follower(paths, names, delivery, settings)
    try:
        go(follower, manifest, follow)
    except OSError as error:
        raise UsageError(f"{error.filename or run}: {error.strerror}") from error
    finally:
        account.close()
    options = {
        "--tenant": tenant, "--user": user,
        "--every": None if every == EVERY else every, "--by": None if by == ",".join(BY) else by,
    }  # fmt: skip
    again = _again(run, server.address, options, label, has_token=token_file is not None)
    finish(account, again, as_json)


def go(follower: Follower, manifest: Manifest, follow: bool) -> None:
    """Send what there is, or all that comes until the run is over."""
    from pyrometer.push.follower import is_over

    if not follow:
        follower.once()
        return
    # The observed application takes precedence over us.
    os.nice(10)
    stopping = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    for number in stopping:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda *_: follower.delivery.stop.set())
    # Who keeps the run holds these back, and its children inherit that.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, stopping)
    follower.follow(lambda: is_over(follower.paths, manifest.launcher))


def say(text: str) -> None:
    """Print on stderr what the server does."""
    from rich.markup import escape

    err().print(escape(text), soft_wrap=True)


def _again(
    run: Path,
    address: str,
    options: Mapping[str, str | None],
    labels: Sequence[str],
    *,
    has_token: bool,
) -> str:
    """Write the command that sends the rest as this call does.

    Errors are redacted: what follows ``--token-file`` would be struck out, so it is not named.
    """
    words = ["pyrometer", "push", str(run), "--to", address]
    words += [word for name, value in options.items() if value for word in (name, value)]
    words += [word for one in labels for word in ("--label", one)]
    return shlex.join(words) + (", with the same --token-file" if has_token else "")


def finish(account: Sent, again: str, as_json: bool) -> None:
    """Print what was sent.

    Parameters
    ----------
    again : str
        The command that sends the rest.

    Raises
    ------
    CapabilityError
        If the server did not take all that this call had for it.
    """
    from pyrometer.core import units

    summary = account.summary()
    console = human(as_json)
    with ending_with(_lacking(account, again)):
        console.print(
            f"{summary['profiles']['taken']} profiles of {summary['chunks_count']} chunks taken, "
            f"{units.size(summary['sent_bytes'])}; own CPU {summary['own_cpu_ns'] / 1e9:.2f} s"
        )
        if as_json:
            emit_json(summary)
        if account.lost_before:
            console.print(
                f"earlier calls: {_listed(account.lost_before)}; that is not sent again",
                markup=False, soft_wrap=True,
            )  # fmt: skip
        if account.open_bytes:
            console.print(f"{units.size(account.open_bytes)} are in incomplete chunks")


def _lacking(account: Sent, again: str) -> CapabilityError | None:
    """Say what this call had for the server, and did not bring there."""
    from pyrometer.core import units

    missing = [_listed(account.lost)] if account.lost else []
    # A chunk that cannot be read stays so.
    resent = account.lost.keys() & {"refused", "unsure"}
    remedy = f"to send all once more, also what was taken: rm {account.path}" if resent else None
    if account.left_bytes:
        missing.append(f"{units.size(account.left_bytes)} of recordings were not sent")
        remedy = f"send the rest: {again}"
    if not missing:
        return None
    why = f" ({account.last_error})" if account.last_error else ""
    return CapabilityError(f"{account.address}: {', '.join(missing)}{why}", remedy)


def _listed(lost: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {what}" for what, count in lost.items())
