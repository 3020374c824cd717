"""Applications of a run: versions, executors and configuration, as the event log has them.

The log has what was set, not what Spark takes where nothing was set: its own defaults are absent.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from pyrometer.accounts.schema import App, ExecutorGroup, Failed, Origin, Setting
from pyrometer.accounts.spark import FAILED, SUCCEEDED, nothing, totals_by
from pyrometer.core import schema
from pyrometer.window.scope import Scope

MAX_SETTINGS = 1_000
MAX_VALUE = 2_000
MAX_GROUPS = 20

# Origins in the order of the table: what somebody chose comes first.
_RANKS: tuple[Origin, ...] = ("set", "pyrometer", "spark", "jvm")
# What Spark writes into its own configuration when it starts.
_SPARKS_OWN = re.compile(
    r"^spark\.(?:app\.(?:id|startTime|submitTime|attempt\.id|initial\..*)|driver\.(?:host|port)"
    r"|executor\.id|repl\.(?:class|local)\..*|sql\.warehouse\.dir\.default|ui\.filters"
    r"|yarn\.app\..*|org\.apache\.hadoop\.yarn\..*)$"
)
_PYROMETERS = re.compile(r"^spark\.plugins\.internal\.conf\.org\.pyrometer\.")
# Since 3.3 Spark puts these before the options of every JVM (JavaModuleOptions).
_MODULES = re.compile(
    r"^(?:-Djava\.net\.preferIPv6Addresses=\w+|-XX:\+IgnoreUnrecognizedVMOptions|--add-modules=\S+"
    r"|--add-opens=\S+=ALL-UNNAMED|-Djdk\.reflect\.useDirectMethodHandle=false|-Dio\.netty\.\S+"
    r"|--sun-misc-unsafe-memory-access=allow|--enable-native-access=ALL-UNNAMED)$"
)


def apps(scope: Scope) -> list[App]:
    """Applications of the run with their totals in the window."""
    found = totals_by(scope, ("app_index",))
    rows = scope.tables.records(
        "SELECT app_index, app_id, app_name, spark_version, java_version, scala_version, master,"
        ' "user", start_wall_ns, end_wall_ns, spark_conf, system_properties'
        " FROM apps ORDER BY app_index"
    )
    groups = _executors(scope)
    manifest = scope.run.manifest
    overlay = manifest.conf_overlay if manifest else []
    changed = {item.key for item in overlay if item.how != "kept_user"}
    listed = []
    for row in rows:
        conf = _mapping(row.pop("spark_conf"))
        properties = _mapping(row.pop("system_properties"))
        every = settings(conf, properties, row["spark_version"], changed)
        listed.append(
            App(
                **row,
                executors=groups[row["app_index"]][:MAX_GROUPS],
                executor_memory=conf.get("spark.executor.memory"),
                driver_memory=conf.get("spark.driver.memory"),
                settings=every[:MAX_SETTINGS],
                settings_count=len(every),
                totals=found[SUCCEEDED].get((row["app_index"],), nothing()),
                failed=Failed(totals=found[FAILED].get((row["app_index"],), nothing())),
            )
        )
    return listed


def settings(
    conf: Mapping[str, str],
    properties: Mapping[str, str],
    spark_version: str | None = None,
    changed: Iterable[str] = (),
) -> list[Setting]:
    """List settings with where they are from: what somebody changed first, then by name.

    Parameters
    ----------
    conf, properties : mapping of str to str
        Spark properties and system properties of the driver.
    spark_version : str or None
        Whose defaults the values are compared with.
    changed : iterable of str
        Spark properties that Pyrometer set.

    Examples
    --------
    >>> found = settings({"spark.app.id": "local-1", "spark.master": "local[2]"}, {"os.arch": "x"})
    >>> [(each.name, each.origin) for each in found]
    [('spark.master', 'set'), ('spark.app.id', 'spark'), ('os.arch', 'jvm')]
    """
    ours = set(changed)
    listed = []
    for name, value in conf.items():
        default = schema.spark_default(name, spark_version)
        listed.append(
            Setting(
                name=name,
                value=_cut(value),
                origin=_origin(name, value, ours),
                default=default,
                is_default=None if default is None else _plain(value) == _plain(default),
            )
        )
    # A property of spark-submit stands in both.
    listed += [
        Setting(name=name, value=_cut(value), origin="jvm")
        for name, value in properties.items()
        if name not in conf
    ]
    return sorted(listed, key=lambda s: (_RANKS.index(s.origin), bool(s.is_default), s.name))


_SIZE = re.compile(r"(\d{1,19})([kmgt]?)b?")
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def _plain(value: str) -> str:
    """Write a value so that equal ones are equal texts: sizes in bytes, words in lower case."""
    text = value.strip().lower()
    found = _SIZE.fullmatch(text)
    return str(int(found[1]) * _UNITS[found[2]]) if found else text


def _origin(name: str, value: str, ours: set[str]) -> Origin:
    if name in ours or _PYROMETERS.match(name):
        return "pyrometer"
    if _SPARKS_OWN.match(name):
        return "spark"
    words = value.split()
    modules = name.endswith("JavaOptions") and words and all(map(_MODULES.match, words))
    return "spark" if modules else "set"


def _cut(value: str) -> str:
    if len(value) <= MAX_VALUE:
        return value
    return f"{value[:MAX_VALUE]} … (cut: {len(value):,} characters)"


def _mapping(text: str | None) -> dict[str, str]:
    found = json.loads(text) if text else {}
    return {str(name): str(value) for name, value in found.items()}


def _executors(scope: Scope) -> dict[int, list[ExecutorGroup]]:
    """Executors alike in cores and memory; of local mode, the driver that runs the tasks."""
    rows = scope.tables.records(
        "WITH e AS (SELECT *, executor_id <> 'driver' AS away FROM executors)"
        " SELECT app_index, cores_count, max_memory_bytes AS storage_memory_bytes,"
        "  count(*) AS executors_count, count(DISTINCT host) AS hosts_count,"
        "  count(remove_wall_ns) AS removed_count"
        " FROM e WHERE away OR app_index NOT IN (SELECT app_index FROM e WHERE away)"
        " GROUP BY ALL ORDER BY app_index, executors_count DESC, cores_count, storage_memory_bytes"
    )
    found: dict[int, list[ExecutorGroup]] = defaultdict(list)
    for row in rows:
        found[row.pop("app_index")].append(ExecutorGroup(**row))
    return found
