"""``random-read``: one block after the other, each at a random offset."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pyrometer.core.errors import UsageError
from pyrometer.core.replacing import new_file
from pyrometer.workloads.catalogue import fio, postgres
from pyrometer.workloads.contract import Workload
from pyrometer.workloads.data_cache import check_room
from pyrometer.workloads.results import checksum
from pyrometer.workloads.values import (
    IterationResult,
    Mismatch,
    Prepared,
    Progress,
    Variant,
    WorkloadSpec,
    no_progress,
)

if TYPE_CHECKING:
    from pyrometer.workloads.data_cache import DataCache


READS_OF_BLOCKS = 4
"""One of so many blocks is read in an iteration."""

SEED = 20240229
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
_BLOCK = {"8k": 8192, "4k": 4096}
_FILLER = 7000
_MIB = 1 << 20

# The value is computed from the key by a rule that the client knows, too.
_LOAD = """\
create unlogged table blocks (id bigint not null, value bigint not null, filler text not null);
alter table blocks alter column filler set storage plain;
insert into blocks
  select id, (id * 2654435761) % 4294967296, repeat('x', {filler})
  from generate_series(1, {blocks}) as id;
alter table blocks add primary key (id);
vacuum (freeze, analyze) blocks;
checkpoint;
"""
# Many places in one statement, each looked up by the index; where they are follows from the seed.
_LOOKUPS = """\
\\set seed random(1, 1000000000)
select sum((select (value = (i.id * 2654435761) % 4294967296)::int from blocks where id = i.id))
    as right
  from (select 1 + (hashint8extended(g, :seed) & 9223372036854775807) % {blocks} as id
        from generate_series(1, {count}) as g) as i \\gset
\\set checked 1 / (case when :right = {count} then 1 else 0 end)
"""
_LOOKUP = """\
\\set id random(1, {blocks})
select value from blocks where id = :id \\gset
\\set right 1 / (case when :value = (:id * 2654435761) % 4294967296 then 1 else 0 end)
"""


class RandomRead(Workload):
    """Single-block reads at random offsets of a file, or of a table of PostgreSQL."""

    name = "random-read"
    engine = "process"
    summary = "Read single blocks at random places: latency of the disk, or of the page cache"
    description = (
        "One client reads single blocks, each at a random place, and waits for each. fio reads a "
        "file in which every block holds its own offset and compares what it read; PostgreSQL "
        "looks rows up by primary key, one row to a block, and the client compares the value. "
        "A quarter of the blocks is read in an iteration, the same in each. No Spark takes part. "
        "With profile full, PostgreSQL's wait events are read beside the state of its processes."
    )
    source = (
        "Linux perf, stack profiling with extended process state (2016): random reads of single "
        "8 KB blocks by one client, bound by I/O"
    )
    expectation = (
        "Cold: nearly all time is waiting for the disk, a few hundred microseconds a read. Warm: "
        "nearly all is CPU, a few microseconds. Without cache.state the first iteration is cold "
        "only if the data is not resident, and later ones find their blocks in the page cache. "
        "PostgreSQL adds the work of a query and its index to each read. With workload.at_once=64 "
        "its session is busy with reads alone: warm, nearly all of its wait events is CPU time."
    )
    variants: ClassVar = {
        "workload.engine": Variant(
            levels={
                "fio-libaio": "fio with Linux's native asynchronous I/O, one request at a time",
                "fio-io_uring": "fio with io_uring, one request at a time",
                "postgresql": "lookups by primary key through pgbench",
            },
            default="fio-libaio",
            doc="What reads.",
        ),
        "workload.block": Variant(
            levels={"8k": "8 KiB, a block of PostgreSQL", "4k": "4 KiB, a page; fio only"},
            default="8k",
            doc="Size of a block.",
        ),
        "workload.at_once": Variant(
            levels={
                "1": "one block, then the next",
                "64": "64 blocks: as many requests of fio in flight, or rows of one statement",
            },
            default="1",
            doc="How many blocks are requested at once.",
        ),
        "workload.passes": Variant(
            levels={
                "1": "once",
                "32": "32 times, to look at fast reads for longer; PostgreSQL only",
            },
            default="1",
            doc="How often a quarter of the blocks is read in an iteration.",
        ),
        "workload.io": Variant(
            levels={"buffered": "through the page cache", "direct": "past it (O_DIRECT); fio only"},
            default="buffered",
            doc="Whether the page cache takes part.",
        ),
    }
    scales: ClassVar = {"test": 2_000, "default": 131_072, "seed": 8_388_608}
    scale_unit = "blocks of the file or table"

    def bytes_needed(self, spec: WorkloadSpec) -> int:
        """File or table; the table's blocks are full, and there is an index."""
        size = spec.size * _BLOCK[spec.levels["workload.block"]]
        return size if _fio_engine(spec) else size + spec.size * 40 + 64 * _MIB

    def prepare(
        self, spec: WorkloadSpec, cache: DataCache, progress: Progress = no_progress
    ) -> Prepared:
        """Write the file, or the script that fills the table in `setup`."""
        reads = max(1, spec.size // READS_OF_BLOCKS)
        if not _fio_engine(spec):
            _only_fio(spec)
            postgres.check(cache.root)
            text = _LOAD.format(filler=_FILLER, blocks=spec.size)

            def write(folder: Path, report: Progress) -> dict[str, Any]:
                report("writing the script", 0, 1)
                (folder / "load.sql").write_text(text, encoding="ascii")
                return {"reads": reads}

            return cache.ensure(
                f"random-read-table-{spec.size}",
                {"sql": text, "reads": reads},
                write,
                bytes_needed=self.bytes_needed(spec),
                progress=progress,
            )
        if spec.levels["workload.passes"] != "1":
            raise UsageError(
                "workload.passes=32: fio reads each block of its file once at most",
                "leave it out, or use workload.engine=postgresql",
            )
        fio.program()
        block = _BLOCK[spec.levels["workload.block"]]

        def write_blocks(folder: Path, report: Progress) -> dict[str, Any]:
            fio.write_blocks(folder / "blocks", spec.size, block, report)
            return {"reads": reads}

        prepared = cache.ensure(
            f"random-read-{spec.size}x{block}",
            {"generator": 1, "blocks": spec.size, "block": block, "reads": reads},
            write_blocks,
            bytes_needed=self.bytes_needed(spec),
            progress=progress,
        )
        return prepared.with_paths(blocks="blocks")

    def setup(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> None:
        """Start PostgreSQL and fill its table."""
        if _fio_engine(spec):
            return
        server = _server(prepared)
        # It removes what servers of dead processes left, which takes room.
        server.start()
        check_room(server.folder, self.bytes_needed(spec))
        for statement in Path(prepared.root, "load.sql").read_text().split(";\n"):
            if statement.strip():
                server.sql(statement)
        count = _at_once(spec)
        text = _LOOKUP if count == 1 else _LOOKUPS
        script = text.format(blocks=spec.size, count=count)
        # A folder of the server's user, in which a link could stand.
        with new_file(server.folder / "lookup.sql") as lookup:
            lookup.write(script.encode("ascii"))
            os.fchmod(lookup.fileno(), 0o644)

    def teardown(self, prepared: Prepared, spec: WorkloadSpec) -> None:
        """Stop PostgreSQL and remove its table."""
        if not _fio_engine(spec):
            _server(prepared).remove()

    def read_files(self, prepared: Prepared, spec: WorkloadSpec) -> list[str]:
        """Name the file, or those of the table and its index."""
        if _fio_engine(spec):
            return [prepared.paths["blocks"]]
        return _server(prepared).files("blocks", "blocks_pkey")

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Read; a block or row with other content than known fails."""
        reads = _reads(prepared, spec)
        engine = _fio_engine(spec)
        if engine:
            counters = fio.read_blocks(
                prepared.paths["blocks"],
                engine=engine,
                block=_BLOCK[spec.levels["workload.block"]],
                depth=_at_once(spec),
                direct=spec.levels["workload.io"] == "direct",
                reads=reads,
                seed=SEED,
                quantiles=QUANTILES,
            )
        else:
            counters = _run_lookups(prepared, reads, _at_once(spec))
        done = counters["reads_count"]
        return IterationResult(rows=done, checksum=checksum([(done,)]), counters=counters)

    def annotation(self, spec: WorkloadSpec) -> str | None:
        """Read the wait events of PostgreSQL's processes."""
        return None if _fio_engine(spec) else "postgres"

    def verify(
        self, result: IterationResult, prepared: Prepared, spec: WorkloadSpec
    ) -> Mismatch | None:
        """All reads were done; their content was compared while reading."""
        reads = _reads(prepared, spec)
        if (result.rows, result.checksum) != (reads, checksum([(reads,)])):
            return Mismatch("blocks read with the right content", str(reads), str(result.rows))
        return None


def _fio_engine(spec: WorkloadSpec) -> str | None:
    front, _, engine = spec.levels["workload.engine"].partition("-")
    return engine if front == "fio" else None


def _reads(prepared: Prepared, spec: WorkloadSpec) -> int:
    return int(prepared.facts["reads"]) * int(spec.levels["workload.passes"])


def _at_once(spec: WorkloadSpec) -> int:
    return int(spec.levels["workload.at_once"])


def _only_fio(spec: WorkloadSpec) -> None:
    for factor, level in (("workload.block", "4k"), ("workload.io", "direct")):
        if spec.levels[factor] == level:
            raise UsageError(
                f"{factor}={level}: PostgreSQL reads blocks of 8 KiB through the page cache",
                "leave it out, or use workload.engine=fio-libaio",
            )


def _server(prepared: Prepared) -> postgres.Server:
    # The dataset lies in <cache>/data/<name>.
    return postgres.Server(Path(prepared.root).parents[1])


def _run_lookups(prepared: Prepared, reads: int, at_once: int) -> dict[str, int]:
    server = _server(prepared)
    for old in server.folder.glob("times.*"):
        old.unlink()
    server.run(
        "pgbench", *server.connection()[:4], "-n", "-c", "1",
        "-t", str(-(-reads // at_once)), "-l",
        "--log-prefix=times", f"--random-seed={SEED}", "-M", "prepared",
        "-f", "lookup.sql", "postgres",
    )  # fmt: skip
    # Client, transaction, microseconds, script, second, microsecond.
    lines = [line for file in server.folder.glob("times.*") for line in file.open()]
    times = sorted(1000 * int(line.split()[2]) for line in lines)
    return {
        # The last statement would read more than was asked for: what is counted is what was.
        "reads_count": min(reads, len(times) * at_once),
        **{f"latency_{name}_ns": times[int(q * (len(times) - 1))] for name, q in QUANTILES.items()},
        "latency_max_ns": times[-1],
    }
