"""Settings that cannot have had an effect.

What it is
    A setting that somebody gave the application, other than Spark's default where that is
    known, and that nothing in this run could heed: what it is about was off, or did not occur.

Mechanism
    Nothing is simulated, and no time is saved: a setting is listed where the code that reads it
    cannot have run (no shuffle, no join, local mode, dynamic allocation off), or where something
    else decided (adaptive execution coalesced the partitions). Settings with the same reason share
    one note.

Evidence
    The settings in the event log, the master, tasks' shuffle and spill metrics, and the names of
    the nodes of all plans. What depends on plans is left out where some work has no plan in the log
    (RDDs, caches, commands without children), what did not occur where the log has no end, and
    everything where Spark's version is not known: platforms with a Spark of their own do not name
    it.

Remedy
    Leave them out: the next reader takes them for the cause, and they take effect when the job
    changes.

When it is wrong
    A session may change settings of Spark SQL while it runs, which the log of the application's
    settings does not show. Other jobs may share the same file of settings.

Source
    Spark's documentation of the configuration, of running on YARN and on Kubernetes, and of SQL
    performance tuning; `spark.shuffle.memoryFraction` and its like: release notes of Spark 3.0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from pyrometer.core import units
from pyrometer.explain.evidence.exercised import CACHED, Exercised
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Remark, Rule
from pyrometer.explain.schema import Place

_FILES = re.compile(
    r"(scan (?!jdbc|existingrdd|onerow)|batchscan|filescan|gpu|photon|native|comet)"
)


def _local(seen: Exercised, _: str) -> str | None:
    if seen.facts.heap_setting != "spark.driver.memory":
        return None
    return f"with master {seen.master} tasks run in the driver's JVM, and there are no executors"


def _master(kind: str, *begins: str) -> Callable[[Exercised, str], str | None]:
    def why(seen: Exercised, _: str) -> str | None:
        other = seen.master and not seen.master.startswith(begins)
        return f"the master is {seen.master}, not {kind}" if other else None

    return why


def _switch(name: str) -> Callable[[Exercised, str], str | None]:
    return lambda seen, _: f"{name} is not on" if seen.off(name) else None


def _removed(major: int) -> Callable[[Exercised, str], str | None]:
    return lambda seen, _: (
        f"Spark {seen.version[0]}.{seen.version[1]} does not read it: it was removed in Spark"
        f" {major}.0"
        if seen.version >= (major, 0) else None
    )  # fmt: skip


def _no_rapids(seen: Exercised, _: str) -> str | None:
    loaded = "com.nvidia" in (seen.facts.setting("spark.plugins") or "") or seen.any_node("^gpu")
    return None if loaded else "the RAPIDS plugin is not loaded"


def _no_shuffle(seen: Exercised, _: str) -> str | None:
    shuffled, _spilled, whole = seen.sums
    return "no task wrote or read a shuffle" if whole and not shuffled else None


def _no_spill(seen: Exercised, _: str) -> str | None:
    return "no task spilled" if seen.sums[2] and not seen.sums[1] else None


def _joined(seen: Exercised, value: str) -> str | None:
    if not value.isdigit() or not seen.any_node("^(aqeshuffleread|customshufflereader)"):
        return None
    most = seen.most_readers
    if not most or most >= int(value):
        return None
    return (
        f"adaptive execution coalesced the {units.counted(int(value), 'partition')}: no stage that"
        f" read a shuffle ran more than {units.count(most)} task{'s' * (most != 1)}"
    )


def _no_node(pattern: str, what: str) -> Callable[[Exercised, str], str | None]:
    return lambda seen, _: (
        f"no plan has {what}" if seen.planned and not seen.any_node(pattern) else None
    )


def _no_parquet(seen: Exercised, _: str) -> str | None:
    known = any(parquet for parquet, _leaf in seen.nodes.values())
    other = seen.any_node("delta|iceberg|hudi")
    return None if known or other or not seen.planned else "no plan reads or writes Parquet"


def _only_sql(seen: Exercised, value: str) -> str | None:
    if not value.endswith("KryoSerializer") or not seen.all_sql:
        return None
    return (
        "all stages are of Spark SQL, which writes its rows in a format of its own: only results"
        " and broadcasts pass through the serializer"
    )


def _codec(name: str) -> Callable[[Exercised, str], str | None]:
    def why(seen: Exercised, _: str) -> str | None:
        codec = (seen.facts.setting("spark.io.compression.codec") or "lz4").lower()
        return None if name in codec else f"spark.io.compression.codec is {codec}"

    return why


_WHY: tuple[tuple[str, Callable[[Exercised, str], str | None]], ...] = (
    (r"spark\.executor\.(memory|memoryOverhead|memoryOverheadFactor|cores|instances)", _local),
    (r"spark\.(dynamicAllocation|yarn|kubernetes)\..*|spark\.cores\.max", _local),
    (r"spark\.yarn\..*", _master("YARN", "yarn")),
    (r"spark\.kubernetes\..*", _master("Kubernetes", "k8s")),
    (r"spark\.cores\.max", _master("of a standalone cluster", "spark:", "mesos:")),
    (r"spark\.dynamicAllocation\.(?!enabled$).*", _switch("spark.dynamicAllocation.enabled")),
    (r"spark\.memory\.offHeap\.size", _switch("spark.memory.offHeap.enabled")),
    (r"spark\.speculation\..*", _switch("spark.speculation")),
    # Star detection works without the cost-based optimiser, and so do plan statistics.
    (r"spark\.sql\.cbo\.(?!enabled$|starSchemaDetection$|starJoinFTRatio$|planStats\.).*",
     _switch("spark.sql.cbo.enabled")),
    (r"spark\.rapids\..*", _no_rapids),
    (r"spark\.(shuffle|storage)\.memoryFraction|spark\.storage\.unrollFraction", _removed(3)),
    (r"spark\.akka\..*|spark\.shuffle\.consolidateFiles|spark\.sql\.tungsten\.enabled",
     _removed(2)),
    # Blocks of broadcasts are fetched with the settings of spark.shuffle.io, too, and sorts spill
    # with those of spark.shuffle.spill.
    (r"spark\.shuffle\.(?!io\.|service\.|spill\.).*|spark\.reducer\..*", _no_shuffle),
    (r"spark\.sql\.(shuffle\.partitions|adaptive\.(?!enabled$|auto).*)", _no_shuffle),
    (r"spark\.shuffle\.spill\.compress", _no_spill),
    (r"spark\.sql\.adaptive\.(?!enabled$).*", _no_node("^adaptivesparkplan", "adaptive execution")),
    (r"spark\.sql\.shuffle\.partitions", _joined),
    (r"spark\.sql\.((adaptive\.)?autoBroadcastJoinThreshold|join\..*|adaptive\.skewJoin\..*)",
     _no_node("join|cartesian", "a join")),
    (r"spark\.sql\.inMemoryColumnarStorage\..*", _no_node(CACHED, "a cached relation")),
    (r"spark\.sql\.files\.(maxPartitionBytes|openCostInBytes|minPartitionNum|maxPartitionNum)",
     _no_node(_FILES.pattern, "a scan of files")),
    (r"spark\.sql\.parquet\..*", _no_parquet),
    (r"spark\.sql\.execution\.pythonUDF\..*", _no_node("python|arrow|pandas", "a Python function")),
    (r"spark\.serializer", _only_sql),
    (r"spark\.io\.compression\.lz4\..*", _codec("lz4")),
    (r"spark\.io\.compression\.snappy\..*", _codec("snappy")),
)  # fmt: skip
"""Names of settings, and what says why they had no effect; of several, the first that does."""


def _suspects(facts: Facts) -> Iterator[Remark]:
    app = facts.measured.app_index if facts.measured else 0
    own = next((one for one in facts.summary.apps if one.app_index == app), None)
    found = re.match(r"(\d+)\.(\d+)", (own.spark_version if own else None) or "")
    if own is None or found is None:
        return
    seen = Exercised(facts, app, own.master or "", (int(found[1]), int(found[2])))
    reasons: dict[str, dict[str, str]] = {}
    for one in own.settings:
        if one.origin != "set" or one.is_default or not one.value:
            continue
        for names, why in _WHY:
            reason = why(seen, one.value) if re.fullmatch(names, one.name) else None
            if reason:
                reasons.setdefault(reason, {})[one.name] = one.value
                break
    for reason, settings in reasons.items():
        yield Remark(
            place=Place(layer="setting", app=app, setting=next(iter(settings))),
            mechanism=f"{reason if '.' in reason.split()[0] else reason[0].upper() + reason[1:]}.",
            settings=settings,
        )


RULE = Rule(
    code="config.no-effect",
    title="Settings without effect",
    cause="setting without effect",
    suspects=_suspects,
    refute="Run without them: elapsed time and plans must stay as they are.",
)
