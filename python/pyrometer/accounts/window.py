"""A run opened at a window, with the views that more than one account reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyrometer.accounts.jvm.jvm import define_pauses
from pyrometer.attribution.python_workers import define_python
from pyrometer.store import Run
from pyrometer.store.lives import copy_lives
from pyrometer.store.manifest import Manifest
from pyrometer.window.counters import define_series, define_threads
from pyrometer.window.scope import Scope
from pyrometer.window.windows import RunFacts, choose, run_name


def open_scope(run: Run, window: str | None) -> Scope:
    """Cut a run to a window, with the views that more than one account reads."""
    return _cut(Scope(run, choose(run, window)))


@contextmanager
def on_host(
    scope: Scope, *hosts: str, machines: Mapping[str, str] | None = None
) -> Iterator[Scope]:
    """Cut a run to the same window and one of its hosts, or several.

    Parameters
    ----------
    scope : Scope
        The run, cut to a window.
    *hosts : str
        The hosts.
    machines : mapping of str to str, optional
        Further hosts, each with that of the former which is the same machine, such as pods of a
        node: their processes count, and what they read of the machine does not.
    """
    machines = machines or {}
    with scope.run.on_host(*hosts, *machines) as own:
        narrowed = Scope(own, scope.window, machines=machines)
        narrowed.offset_ns = scope.offset_ns
        copy_lives(scope.tables, own.tables)
        yield _cut(narrowed)


def cut_again(run: Run, scope: Scope) -> Scope:
    """Cut the same run, opened once more, to the same window: on a connection of its own."""
    return _cut(Scope(run, scope.window))


def _cut(scope: Scope) -> Scope:
    define_threads(scope)
    define_series(scope)
    define_pauses(scope)
    define_python(scope)
    return scope


def facts(run: Run) -> RunFacts:
    """Say what ran, where and how it ended."""
    version = run.tables.scalar("SELECT min(spark_version) FROM apps")
    started = run.tables.scalar("SELECT min(start_wall_ns) FROM apps")
    manifest = run.manifest
    name = run_name(run)
    if manifest is None:
        return RunFacts(
            run_dir=run.paths.address, name=name, spark_version=version, started_wall_ns=started
        )
    plain: dict[str, Any] = manifest.model_dump(mode="json")
    return RunFacts(
        run_dir=run.paths.address,
        name=name,
        workload=manifest.workload.name,
        command=manifest.workload.command,
        variant=manifest.workload.variant,
        treatment=manifest.treatment,
        treatment_origin=dict(manifest.treatment_origin),
        scale=manifest.workload.scale,
        profile=manifest.profile,
        state=manifest.state,
        exit_code=manifest.exit.code,
        spark_version=version or manifest.versions.get("spark"),
        started_wall_ns=manifest.started_wall_ns or started,
        host=plain["host"],
        machine=plain["machine"],
        machine_facts=_machine_facts(manifest),
        conf_overlay=plain["conf_overlay"],
    )


def _machine_facts(manifest: Manifest) -> dict[str, str]:
    if manifest.machine is None:
        return {}
    from pyrometer.guests.described import shown  # few runs are of a machine of their own

    return shown(manifest.machine)
