"""Probes of one host into one account: what is the host's counts once.

At any moment the host, and a control group, are read from one probe alone, the earliest, and where
that had ended from the next. A process is that of the probe beside its executor, and where there is
none, or none any more, that of the agent of the host.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from pyrometer.core import schema
from pyrometer.store.axis.picked import PICKED, fresh_rows
from pyrometer.store.axis.probe_files import ProbeFiles, read_streams
from pyrometer.store.services.machines import Service
from pyrometer.store.services.rows import OF_HOST, keep_own
from pyrometer.store.sql.connected import connected
from pyrometer.store.sql.queries import MOST_MEMORY
from pyrometer.store.sql.text import from_parquet, literal

_OF_HOST = "scope NOT LIKE 'process/%' AND scope NOT LIKE 'probe%'"
_SINCE_BEGIN = "(r.scope LIKE 'kernel/%' OR r.scope LIKE 'energy/%')"
"""Series that count since their probe began, and not since the host did."""

Stretch = tuple[float, float]


@dataclass(frozen=True)
class _Read:
    """A probe whose streams are tables by now.

    Attributes
    ----------
    probe : ProbeFiles
        Whose.
    folder : Path
        Folder of the tables.
    host : str or None
        Only rows of this host in them; ``None`` for all.
    begin : float
        First reading of the host; infinite where it read nothing of it.
    """

    probe: ProbeFiles
    folder: Path
    host: str | None
    begin: float

    def rows(self, table: str) -> str | None:
        """Name rows of a table; ``None`` if there are none."""
        file = self.folder / f"{table}.parquet"
        if not file.is_file():
            return None
        source = from_parquet(file)
        return source if self.host is None else f"(FROM {source} WHERE host = {literal(self.host)})"


@dataclass
class OneHost:
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
    window : callable
        Gives the run on the clock of a service's host.
    """

    building: Path
    core: Any
    first: ProbeFiles | None
    number: int
    window: Callable[[Service], tuple[int, int] | None] = lambda _: None
    taken: list[Stretch] = field(default_factory=list)
    counted: dict[str, list[Stretch]] = field(default_factory=dict)
    groups: list[str] | None = None
    at: int = 0

    def add(self, probes: Sequence[ProbeFiles]) -> list[dict[str, Any]]:
        """Write the rows of probes as more parts of the tables; gives what was read of each."""
        if not probes:
            return []
        answers = []
        with (
            tempfile.TemporaryDirectory(prefix=".probes-", dir=self.building) as scratch,
            connected(self.building, threads=1, memory_limit=MOST_MEMORY) as connection,
        ):
            read: list[_Read] = []
            for place, probe in enumerate(probes):
                folder = Path(scratch, str(place))
                folder.mkdir()
                answers.append(read_streams(self.core, probe.streams, folder))
                if probe.service is not None:
                    keep_own(connection, folder, probe.service, self.window(probe.service))
                read.append(_Read(probe, folder, None, _begin_of(connection, folder)))
            before = self._begin(connection)
            self._choose(connection, before, read)
            for place in sorted(range(len(read)), key=lambda n: (read[n].begin, n)):
                answers[place]["tables"] = self._write(connection, read[place], place)
        return answers

    def _begin(self, connection: duckdb.DuckDBPyConnection) -> list[_Read]:
        """Name what the first probe said of the host; gives that probe, if there is one."""
        columns = "scope VARCHAR, name VARCHAR, t_mono_ns BIGINT, value BIGINT"
        connection.execute(f"CREATE TABLE known ({columns})")
        if self.first is None:
            return []
        self.at = 1
        host = self._named(connection, self.first.host)
        first = _Read(self.first, self.building, host, -math.inf)
        for name in OF_HOST:
            self._count(connection, name, first.rows(name))
        rows = first.rows("os_series")
        if rows is None:
            return []
        self._remember(connection, self.first, f"{rows} WHERE {_OF_HOST}", rows)
        return [first]

    def _named(self, connection: duckdb.DuckDBPyConnection, name: str) -> str:
        """Give a host's name as rows have it: names of files have no slash."""
        series = self.building / "os_series.parquet"
        if "_" not in name or not series.is_file():
            return name
        found = connection.execute(
            f"SELECT any_value(host) FROM {from_parquet(series)}"
            f" WHERE replace(host, '/', '_') = {literal(name)}"
        ).fetchone()
        return str(found[0]) if found and found[0] else name

    def _remember(
        self, connection: duckdb.DuckDBPyConnection, probe: ProbeFiles, of_host: str, every: str
    ) -> None:
        """Keep when the host was read, and what of it does not count on."""
        connection.execute(
            "INSERT INTO known SELECT scope, name, t_mono_ns, value"
            f" FROM (SELECT * FROM {of_host}) r WHERE {_SINCE_BEGIN}"
        )
        extent = connection.execute(
            f"SELECT min(t_mono_ns), max(t_mono_ns) FROM {every} WHERE {_OF_HOST}"
        ).fetchone()
        if extent and extent[0] is not None:
            self.taken = sorted([*self.taken, (float(extent[0]), float(extent[1]))])
        if self.groups is None and probe.service is None:
            self.groups = probe.groups

    def _count(self, connection: duckdb.DuckDBPyConnection, name: str, rows: str | None) -> None:
        """Keep when the rows of the host in a table are, that are not series."""
        if rows is None:
            return
        picked = PICKED[name]
        extent = connection.execute(
            f"SELECT min({picked.since}), max({picked.until}) FROM {rows} r WHERE {OF_HOST[name]}"
        ).fetchone()
        if extent and extent[0] is not None:
            self.counted.setdefault(name, []).append((float(extent[0]), float(extent[1])))

    def _uncounted(self, name: str) -> str:
        """Write the condition that no other probe has said a row of the host."""
        taken, picked = self.counted.get(name, []), PICKED[name]
        if picked.as_a_whole:
            return "false" if taken else "true"
        parts = [
            "true"
            + ("" if math.isinf(low) else f" AND {picked.since} >= {low:.0f}")
            + ("" if math.isinf(high) else f" AND {picked.until} <= {high:.0f}")
            for low, high in _free(taken)
        ]
        return " OR ".join(f"({part})" for part in parts)

    def _choose(
        self, connection: duckdb.DuckDBPyConnection, before: Sequence[_Read], read: Sequence[_Read]
    ) -> None:
        """Find what of each probe's processes another one has said already.

        Those beside executors come before services: they know what threads work for. Of a process
        that a probe took over from another, what comes after that one's last reading counts.
        """
        connection.execute(
            "CREATE TABLE followed (source INT, host VARCHAR, pid BIGINT, started BIGINT)"
        )
        connection.execute(
            "CREATE TABLE twice (place INT, name VARCHAR, host VARCHAR, pid BIGINT,"
            " since BIGINT, until BIGINT)"
        )
        sources = list(before)
        for one in before:
            self._follow(connection, one, 0)
        order = sorted(
            range(len(read)), key=lambda n: (read[n].probe.service is not None, read[n].begin, n)
        )
        for place in order:
            self._take_over(connection, read[place], place, sources)
            self._follow(connection, read[place], len(sources))
            sources.append(read[place])

    def _follow(self, connection: duckdb.DuckDBPyConnection, one: _Read, by: int) -> None:
        rows = one.rows("os_series")
        if rows is not None:
            connection.execute(
                f"INSERT INTO followed SELECT DISTINCT {by}, host,"
                f" TRY_CAST(substr(scope, 9) AS BIGINT), value FROM {rows}"
                " WHERE name = 'start_time_mono_ns' AND scope LIKE 'process/%'"
            )

    def _take_over(
        self,
        connection: duckdb.DuckDBPyConnection,
        one: _Read,
        place: int,
        sources: Sequence[_Read],
    ) -> None:
        series = one.rows("os_series")
        if series is None or not sources:
            return
        found = connection.execute(
            "SELECT DISTINCT f.source, f.host, f.pid FROM followed f"
            " JOIN (SELECT DISTINCT host, TRY_CAST(substr(scope, 9) AS BIGINT) AS pid, value"
            f"  FROM {series} WHERE name = 'start_time_mono_ns' AND scope LIKE 'process/%') s"
            " ON s.host = f.host AND s.pid = f.pid AND s.value = f.started"
        ).fetchall()
        for by, source in enumerate(sources):
            pids = [pid for number, _, pid in found if number == by]
            for table, picked in PICKED.items() if pids else ():
                rows = source.rows(table)
                if rows is not None and picked.pid:
                    connection.execute(
                        f"INSERT INTO twice SELECT {place}, '{table}', host, pid, min(since),"
                        f" max(until) FROM (SELECT host, {picked.pid} AS pid,"
                        f" {picked.since} AS since, {picked.until} AS until FROM {rows} r)"
                        f" WHERE pid IN ({', '.join(map(str, pids))}) GROUP BY host, pid"
                    )

    def _write(
        self, connection: duckdb.DuckDBPyConnection, one: _Read, place: int
    ) -> dict[str, int]:
        """Write what counts of one probe's rows."""
        written = {}
        self.number += 1
        for name, picked in PICKED.items():
            rows = one.rows(name)
            if rows is None:
                continue
            fresh = fresh_rows(name, picked, place)
            if name in OF_HOST:
                of_host = self._uncounted(name)
                fresh = f"CASE WHEN {OF_HOST[name]} THEN {of_host} ELSE {fresh} END"
                self._count(connection, name, rows)
            if name == "os_series":
                query = self._series(connection, one.probe, rows, fresh)
            else:
                query = picked.query(rows, fresh, self.at)
            target = self.building / f"{name}-beside{self.number}.parquet"
            columns = ", ".join(f'"{one.name}"' for one in schema.tables()[name].columns)
            connection.execute(
                f"COPY (SELECT {columns} FROM ({query})) TO {literal(str(target))}"
                " (FORMAT parquet, COMPRESSION zstd)"
            )
            count = f"SELECT count(*) FROM {from_parquet(target)}"
            written[name] = int((connection.execute(count).fetchone() or (0,))[0])
        series = one.rows("os_series")
        if series is not None:
            self._remember(connection, one.probe, "of_host", series)
        self.at += 1
        return written

    def _series(
        self, connection: duckdb.DuckDBPyConnection, probe: ProbeFiles, rows: str, fresh: str
    ) -> str:
        """Choose series: of its processes, of itself, and of the host what nobody else read."""
        same = self.groups is None or (bool(self.groups) and probe.groups == self.groups)
        group = "" if same else " AND scope <> 'cgroup'"
        parts = [_stretch(rows, low, high, group) for low, high in _free(self.taken)]
        connection.execute(f"CREATE OR REPLACE TABLE of_host AS {' UNION ALL '.join(parts)}")
        own = "scope" if self.at == 0 else f"replace(scope, 'probe', 'probe/{self.at}')"
        return (
            "SELECT * FROM of_host UNION ALL BY NAME"
            f" SELECT * REPLACE ({own} AS scope) FROM {rows} WHERE scope LIKE 'probe%'"
            f" UNION ALL BY NAME SELECT * FROM {rows} r WHERE scope LIKE 'process/%' AND {fresh}"
        )


def _begin_of(connection: duckdb.DuckDBPyConnection, folder: Path) -> float:
    """Give the first reading of a probe; of one that read nothing of its host, none ever."""
    series = folder / "os_series.parquet"
    if not series.is_file():
        return math.inf
    first = connection.execute(
        f"SELECT min(t_mono_ns) FROM {from_parquet(series)} WHERE {_OF_HOST}"
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
