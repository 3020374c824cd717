"""Streams of the probes of a run into tables, and of several probes on one host into one account.

The launcher's probe and those beside executors each read the whole host and their own processes.
Rows of processes and threads are kept of each. What is the host's, or a control group's, counts
once: at any moment it is read from one probe alone, the earliest, and where that had ended from
the next.
"""

from __future__ import annotations

import json
import math
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from pyrometer.core import schema
from pyrometer.core.json_text import parse_json
from pyrometer.store.axis.strayed import strayed
from pyrometer.store.sql.text import file_literal, literal
from pyrometer.store.tables import MEMORY_LIMIT

STREAM = re.compile(
    r"probe-(.+?)-"
    r"(threads|series|states|kernel-stacks|off-cpu|io-latency|perf-counts|delays)\.arrows"
)
"""Names of streams: the host, and of which table."""

_STACKS = 1 << 16
"""Kernel stacks of one probe, at most: dictionaries of one host lie one behind another."""
_OF_HOST = "scope NOT LIKE 'process/%' AND scope NOT LIKE 'probe%'"
_SINCE_BEGIN = "(r.scope LIKE 'kernel/%' OR r.scope LIKE 'energy/%')"
"""Series that count since their probe began, and not since the host did."""

Stretch = tuple[float, float]


@dataclass(frozen=True)
class ProbeFiles:
    """The streams of one probe.

    Attributes
    ----------
    folder : Path
        Where they lie.
    host : str
        Its host, as the names of the streams have it.
    streams : tuple of Path
        The files.
    """

    folder: Path
    host: str
    streams: tuple[Path, ...]

    @property
    def groups(self) -> list[str]:
        """Folders of the control group that it read; none where its report does not say."""
        try:
            found = parse_json((self.folder / f"probe-{self.host}.report.json").read_bytes())
            return sorted(map(str, found.get("cgroup_folders") or []))
        except (OSError, ValueError, AttributeError, TypeError):
            return []


def host_of_stream(file: Path) -> str | None:
    """Give the host in the name of a probe's stream.

    Examples
    --------
    >>> host_of_stream(Path("probe-a-b-kernel-stacks.arrows")), host_of_stream(Path("gc.log"))
    ('a-b', None)
    """
    found = STREAM.fullmatch(file.name)
    return found[1] if found else None


def probes_of(streams: Iterable[Path]) -> list[ProbeFiles]:
    """Group streams by the probe that wrote them; names that are no stream's are left out."""
    found: dict[tuple[Path, str], list[Path]] = defaultdict(list)
    for stream in streams:
        host = host_of_stream(stream)
        if host is not None:
            found[stream.parent, host].append(stream)
    return [ProbeFiles(folder, host, tuple(files)) for (folder, host), files in found.items()]


def read_probes(streams: Sequence[Path], raw: Path, building: Path, core: Any) -> str:
    """Make the tables of all probes of a run.

    Parameters
    ----------
    streams : sequence of Path
        Streams of all probes.
    raw : Path
        Folder of the launcher's: what it read of its host is taken as it is.
    building : Path
        Folder of the tables.
    core : module
        The native module.

    Returns
    -------
    str
        What the native readers return: a JSON object of ``tables``, ``doubts`` and ``stats``.
    """
    alone: list[Path] = [stream for stream in streams if host_of_stream(stream) is None]
    several: dict[str, list[ProbeFiles]] = {}
    by_host: dict[str, list[ProbeFiles]] = defaultdict(list)
    for probe in probes_of(streams):
        by_host[probe.host].append(probe)
    first: dict[str, ProbeFiles] = {}
    for host, probes in by_host.items():
        own = [probe for probe in probes if probe.folder == raw]
        whole = own[:1] or probes[: len(probes) == 1]
        for probe in whole:
            first[host] = probe
            alone += probe.streams
        several[host] = [probe for probe in probes if probe not in whole]
    answers = [_read(core, alone, building)] if alone else []
    number = 0
    for host, probes in several.items():
        joined = _Joined(building, core, first.get(host), number)
        answers += joined.add(probes)
        number = joined.number
    return json.dumps(_merged([*answers, {"doubts": strayed(building)}]))


def _read(core: Any, streams: Iterable[Path], folder: Path) -> dict[str, Any]:
    answer: dict[str, Any] = parse_json(core.ingest_probe(list(map(str, streams)), str(folder)))
    return answer


def _merged(answers: Iterable[dict[str, Any]]) -> dict[str, Any]:
    tables: dict[str, int] = defaultdict(int)
    doubts: list[Any] = []
    size = 0
    for answer in answers:
        for table, rows in answer.get("tables", {}).items():
            tables[table] += rows
        doubts += answer.get("doubts", [])
        size += answer.get("stats", {}).get("bytes", 0)
    return {"tables": tables, "doubts": doubts, "stats": {"bytes": size}}


@dataclass
class _Joined:
    """The probes of one host, one after another.

    Attributes
    ----------
    building : Path
        Folder of the tables.
    core : module
        The native module.
    first : ProbeFiles or None
        The probe whose rows are in the tables already.
    number : int
        Parts of tables that are there, of any host.
    """

    building: Path
    core: Any
    first: ProbeFiles | None
    number: int
    taken: list[Stretch] = field(default_factory=list)
    groups: list[str] | None = None
    at: int = 0

    def add(self, probes: Sequence[ProbeFiles]) -> list[dict[str, Any]]:
        """Write the rows of probes as more parts of the tables; gives what was read of each."""
        if not probes:
            return []
        answers = []
        with (
            tempfile.TemporaryDirectory(prefix=".probes-", dir=self.building) as scratch,
            duckdb.connect(
                config={"threads": 1, "memory_limit": MEMORY_LIMIT, "temp_directory": scratch}
            ) as connection,
        ):
            self._begin(connection)
            folders: list[tuple[float, int, Path]] = []
            for place, probe in enumerate(probes):
                folder = Path(scratch, str(place))
                folder.mkdir()
                answers.append(_read(self.core, probe.streams, folder))
                folders.append((_begin_of(connection, folder), place, folder))
            for _, place, folder in sorted(folders):
                answers[place]["tables"] = self._write(connection, probes[place], folder)
        return answers

    def _begin(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Name what the first probe said of the host and of its processes."""
        series = self.building / "os_series.parquet"
        columns = "scope VARCHAR, name VARCHAR, t_mono_ns BIGINT, value BIGINT"
        connection.execute(f"CREATE TABLE known ({columns})")
        connection.execute("CREATE TABLE followed (scope VARCHAR, started BIGINT)")
        if self.first is None:
            return
        self.at = 1
        if not series.is_file():
            return
        connection.execute(
            "CREATE VIEW arrived AS SELECT scope, name, t_mono_ns, value FROM"
            f" read_parquet({file_literal(series)}) WHERE host = (SELECT any_value(host) FROM"
            f"  read_parquet({file_literal(series)}) WHERE replace(host, '/', '_') ="
            f"  {literal(self.first.host)})"
        )
        self._remember(connection, self.first, f"arrived WHERE {_OF_HOST}", "arrived")
        connection.execute("DROP VIEW arrived")

    def _remember(
        self, connection: duckdb.DuckDBPyConnection, probe: ProbeFiles, of_host: str, every: str
    ) -> None:
        """Keep when the host was read, what of it does not count on, and of which processes."""
        connection.execute(
            "INSERT INTO known SELECT scope, name, t_mono_ns, value"
            f" FROM (SELECT * FROM {of_host}) r WHERE {_SINCE_BEGIN}"
        )
        connection.execute(
            f"INSERT INTO followed SELECT scope, value FROM {every}"
            " WHERE name = 'start_time_mono_ns'"
        )
        extent = connection.execute(
            f"SELECT min(t_mono_ns), max(t_mono_ns) FROM {every} WHERE {_OF_HOST}"
        ).fetchone()
        if extent and extent[0] is not None:
            self.taken = sorted([*self.taken, (float(extent[0]), float(extent[1]))])
        if self.groups is None:
            self.groups = probe.groups

    def _write(
        self, connection: duckdb.DuckDBPyConnection, probe: ProbeFiles, folder: Path
    ) -> dict[str, int]:
        """Write what counts of one probe's rows."""
        written = {}
        self.number += 1
        twice = self._processes(connection, folder)
        for name, pick in _PICKED.items():
            source = folder / f"{name}.parquet"
            if not source.is_file():
                continue
            rows = f"read_parquet({file_literal(source)})"
            if name == "os_series":
                query = self._series(connection, probe, rows)
            else:
                query = pick(rows, twice, self.at)
            target = self.building / f"{name}-beside{self.number}.parquet"
            columns = ", ".join(f'"{one.name}"' for one in schema.tables()[name].columns)
            connection.execute(
                f"COPY (SELECT {columns} FROM ({query})) TO {literal(str(target))}"
                " (FORMAT parquet, COMPRESSION zstd)"
            )
            count = f"SELECT count(*) FROM read_parquet({file_literal(target)})"
            written[name] = int((connection.execute(count).fetchone() or (0,))[0])
        series = folder / "os_series.parquet"
        if series.is_file():
            self._remember(connection, probe, "of_host", f"read_parquet({file_literal(series)})")
        self.at += 1
        return written

    def _processes(self, connection: duckdb.DuckDBPyConnection, folder: Path) -> str:
        """Choose the processes that an earlier probe has followed: one number, one begin."""
        connection.execute("CREATE OR REPLACE TABLE twice (scope VARCHAR, pid BIGINT)")
        series = folder / "os_series.parquet"
        if series.is_file():
            connection.execute(
                "INSERT INTO twice SELECT scope, TRY_CAST(substr(scope, 9) AS BIGINT) FROM"
                f" (SELECT DISTINCT scope, value AS started FROM"
                f"  read_parquet({file_literal(series)}) WHERE name = 'start_time_mono_ns')"
                " SEMI JOIN followed USING (scope, started)"
            )
        return "SELECT pid FROM twice WHERE pid IS NOT NULL"

    def _series(self, connection: duckdb.DuckDBPyConnection, probe: ProbeFiles, rows: str) -> str:
        """Choose series: of its processes, of itself, and of the host what nobody else read."""
        same = self.groups is None or (bool(self.groups) and probe.groups == self.groups)
        group = "" if same else " AND scope <> 'cgroup'"
        parts = [_stretch(rows, low, high, group) for low, high in _free(self.taken)]
        connection.execute(f"CREATE OR REPLACE TABLE of_host AS {' UNION ALL '.join(parts)}")
        own = "scope" if self.at == 0 else f"replace(scope, 'probe', 'probe/{self.at}')"
        return (
            "SELECT * FROM of_host UNION ALL BY NAME"
            f" SELECT * REPLACE ({own} AS scope) FROM {rows} WHERE scope LIKE 'probe%'"
            f" UNION ALL BY NAME SELECT * FROM {rows} WHERE scope LIKE 'process/%'"
            " AND scope NOT IN (SELECT scope FROM twice)"
        )


def _begin_of(connection: duckdb.DuckDBPyConnection, folder: Path) -> float:
    """Give the first reading of a probe; of one that read nothing of its host, none ever."""
    series = folder / "os_series.parquet"
    if not series.is_file():
        return math.inf
    first = connection.execute(
        f"SELECT min(t_mono_ns) FROM read_parquet({file_literal(series)}) WHERE {_OF_HOST}"
    ).fetchone()
    return math.inf if first is None or first[0] is None else float(first[0])


def _free(taken: Sequence[Stretch]) -> list[Stretch]:
    """Give the times that lie in no stretch.

    Examples
    --------
    >>> _free([(1, 5), (3, 4), (7, 8)])
    [(-inf, 1), (5, 7), (8, inf)]
    """
    found, until = [], -math.inf
    for low, high in sorted(taken):
        if low > until:
            found.append((until, low))
        until = max(until, high)
    return [*found, (until, math.inf)]


def _stretch(rows: str, low: float, high: float, group: str) -> str:
    """Choose the host's series between two moments.

    What counts since its probe began goes on from where the probe before had ended: its growth is
    what counts.
    """
    inside = f"{_OF_HOST}{group}"
    after = "" if math.isinf(low) else f" AND t_mono_ns > {low:.0f}"
    before = "" if math.isinf(high) else f" AND t_mono_ns < {high:.0f}"
    chosen = f"SELECT * FROM {rows} WHERE {inside}{after}{before}"
    if math.isinf(low):
        return chosen
    # What it had counted by that moment, on a straight line between its readings.
    base = f"""
        SELECT scope, name,
          coalesce(v0 + (v1 - v0)::DOUBLE * ({low:.0f} - t0) / nullif(t1 - t0, 0), v0,
            CASE WHEN scope LIKE 'kernel/%' THEN 0 ELSE v1 END)::BIGINT AS base
        FROM (SELECT scope, name,
            max(t_mono_ns) FILTER (t_mono_ns <= {low:.0f}) AS t0,
            arg_max(value, t_mono_ns) FILTER (t_mono_ns <= {low:.0f}) AS v0,
            min(t_mono_ns) FILTER (t_mono_ns > {low:.0f}) AS t1,
            arg_min(value, t_mono_ns) FILTER (t_mono_ns > {low:.0f}) AS v1
          FROM {rows} GROUP BY scope, name)"""
    upto = f"""
        SELECT scope, name, arg_max(value, t_mono_ns) AS upto FROM known
        WHERE t_mono_ns <= {low:.0f} GROUP BY scope, name"""
    return f"""
        SELECT r.* REPLACE (CASE WHEN {_SINCE_BEGIN}
          THEN r.value - b.base + coalesce(k.upto, 0) ELSE r.value END AS value)
        FROM ({chosen}) r JOIN ({base}) b USING (scope, name)
        LEFT JOIN ({upto}) k USING (scope, name)"""


def _of_processes(rows: str, twice: str, at: int) -> str:
    return f"SELECT * FROM {rows} WHERE pid NOT IN ({twice})"


def _with_stacks(rows: str, twice: str, at: int) -> str:
    shifted = f"kernel_stack + {at * _STACKS} AS kernel_stack"
    return f"SELECT * REPLACE ({shifted}) FROM {rows} WHERE pid NOT IN ({twice})"


def _stacks(rows: str, twice: str, at: int) -> str:
    return f"SELECT * REPLACE (stack_id + {at * _STACKS} AS stack_id) FROM {rows}"


def _counts(rows: str, twice: str, at: int) -> str:
    """Of threads; counters of the host count since they were opened: those of one probe."""
    of_host = "pid IS NULL OR" if at == 0 else "pid IS NOT NULL AND"
    return f"SELECT * FROM {rows} WHERE {of_host} pid NOT IN ({twice})"


def _requests(rows: str, twice: str, at: int) -> str:
    """Choose calls of processes; requests of the whole host are those of one probe."""
    of_host = "kind <> 'read' OR " if at == 0 else "kind = 'read' AND "
    return f"SELECT * FROM {rows} WHERE {of_host}pid NOT IN ({twice})"


_PICKED: dict[str, Callable[[str, str, int], str]] = {
    "thread_counters": _of_processes,
    "os_series": _of_processes,
    "thread_states": _with_stacks,
    "kernel_stacks": _stacks,
    "off_cpu": _with_stacks,
    "io_latency": _requests,
    "perf_counts": _counts,
    "delays": _of_processes,
}
"""Which rows of each table count, of a probe that is not the first on its host."""
