"""Readers of documents that people write or that may be damaged, each for bytes."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from zlib import crc32

from pyrometer.core.json_text import parse_json
from pyrometer.experiments.folder import read_plan
from pyrometer.experiments.journal import read_journal
from pyrometer.experiments.plan.constraints import parse_constraint
from pyrometer.experiments.plan.source import read_source
from pyrometer.experiments.studies.plan import read_study
from pyrometer.guests.frames import MAGIC, DamagedError, Decoder, Piece, piece, say
from pyrometer.guests.parts.elf import needs
from pyrometer.guests.receive import Bounds, Received
from pyrometer.store.axis.ping_lines import read_pings
from pyrometer.store.iteration_lines import read_iterations
from pyrometer.store.manifest import read_manifest
from pyrometer.store.services.canaries import read_canaries
from pyrometer.store.services.chunk_files import header_of
from pyrometer.store.services.executors import read_record
from pyrometer.trial.yaml_file import parse
from pyrometer.tune.memory import remembered
from pyrometer.tune.memory.recall import recalled
from pyrometer.tune.portrait import Portrait
from pyrometer.tune.space.file import parse_space
from pyrometer.tune.trials.folder import Tuning, read_tuning
from pyrometer.tune.trials.records import KINDS
from pyrometer.tune.trials.replay import history_of
from pyrometer.workloads.custom.workload_file import conf, prepared, read, variants

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
EXPERIMENTS = ("jdks", "reclaim-sort", "tpch-all-q01")
MACHINE = {"mem_total": float(8 << 30), "cpus": 4.0}
SPACE = b"""name: mine
spaces: [jvm]
knobs:
  spark.sql.shuffle.partitions: {from: cpus, to: 64, first: [8]}
  spark.x: [true, false]
without: [jvm.gc]
constraints: ["jvm.heap <= 0.25 * mem_total"]
"""
TUNING = b"""{"schema": "pyrometer/tuning-plan/1", "name": "a", "workload": "sort-text",
 "scale": "test", "profile": "light", "iterations": 1, "warmup": 0, "space": {"name": "mine",
 "knobs": [{"factor": "jvm.gc", "kind": "choice", "levels": ["g1", "parallel"]}],
 "constraints": ["jvm.heap <= 4g"]}, "budget": {"text": "6", "amount": 6, "unit": "runs"},
 "reserved": 4, "seed": 1, "margin": 0.02, "timeout_s": 60, "canaries": "trial", "guard": {},
 "cpus": 2}"""
TUNED = b"""{"k":"ask","trial":1,"configuration":{},"fidelity":"full","block":0,"wall_ns":1}
{"k":"begin","trial":1,"attempt":1,"folder":"0001-baseline","wall_ns":2}
{"k":"end","trial":1,"attempt":1,"block":0,"treatment":"baseline","status":"finished",\
"folder":"0001-baseline","seconds":2.5,"wall_ns":3}
{"k":"tell","trial":1,"value":2.5e9,"cost":1e10,"wall_ns":4}
{"k":"settle","configuration":{},"why":"all","wall_ns":5}
""".replace(b"\\\n", b"")
INFORMED = (
    TUNED.splitlines(keepends=True)[0]
    + b"""{"k":"known","priors":[{"source":"f","levels":{"jvm.gc":"parallel"}}],\
"earlier":[{"source":"x","of":"y","configuration":{},"value":1e9,"cost":0}],\
"portrait":{"operators":{"loads":1},"shares":{"on_cpu":0.5},"sizes":{}},"wall_ns":5}
{"k":"offer","fidelity":{"name":"scale","scale":"10","iterations":1,"cost_ratio":0.2},"wall_ns":6}
{"k":"decide","trial":1,"what":"adopted","configuration":{},"why":"all","wall_ns":7}
""".replace(b"\\\n", b"")
)
KEPT = b"""{"schema": "pyrometer/tuning-memory/1", "id": "a", "job": "j", "scale": "test",
 "objective": "elapsed", "portrait": {"operators": {"loads": 1}, "shares": {"on_cpu": 0.5},
 "sizes": {"tasks_count": 4}}, "trials": [{"configuration": {}, "value": 1e9},
 {"configuration": {"jvm.gc": "parallel"}, "value": 8e8},
 {"configuration": {"jvm.gc": "parallel"}, "value": 9e8},
 {"configuration": {"jvm.gc": "g1"}, "value": 9e8}],
 "winner": {"jvm.gc": "parallel"}, "folder": "/t", "wall_ns": 1}"""
RUNNING = b"""{"schema": "pyrometer/manifest/1", "schema_version": 1, "run_id": "1",
 "created_wall_ns": 1, "pyrometer_version": "0.1.0", "workload": {}, "profile": "light",
 "host": {}}"""


class Readers:
    """Every reader by the name of its document; files lie in a folder of their own."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pyrometer-fuzz-"))
        (self.folder / "raw").mkdir()
        # What the examples name.
        (self.folder / "orders").mkdir()
        (self.folder / "orders" / "part").write_bytes(b"1")
        shutil.copy(EXAMPLES / "apps" / "segments.yaml", self.folder)
        self.by_name: dict[str, Callable[[bytes], object]] = {
            "canary": lambda data: [
                one.medians for one in read_canaries(self._file("canary-h.ndjson", data))
            ],
            "chunk": lambda data: header_of(self._file("000000000000.chunk", data)),
            "constraint": lambda data: parse_constraint(data.decode("utf-8", "replace")),
            "elf": lambda data: needs(io.BytesIO(data)),
            "executor": lambda data: read_record(self._file("executor-1-2.json", data)),
            "exit": self._exit,
            "experiment": lambda data: read_source(self._file("experiment.yaml", data)),
            "guest": self._guest,
            "iterations": lambda data: read_iterations(
                self._file("iterations.ndjson", data), lambda *_, **__: None
            ),
            "journal": lambda data: (self._file("journal.ndjson", data), read_journal(self.folder)),
            "json": self._json,
            "manifest": self._manifest,
            "pings": lambda data: read_pings([self._file("plugin-executor-1-1.ndjson", data)]),
            "plan": lambda data: (self._file("experiment.json", data), read_plan(self.folder)),
            "space": lambda data: parse_space(data.decode("utf-8", "replace"), "x.yaml", MACHINE),
            "study": lambda data: read_study(str(self._file("study.yaml", data))),
            "tuning": self._tuning,
            "tuning-journal": self._tuning_journal,
            "tuning-memory": self._tuning_memory,
            "workload": self._workload,
            "yaml": lambda data: parse(data.decode("utf-8", "replace"), "x.yaml"),
        }

    def close(self) -> None:
        """Remove the files."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _file(self, name: str, data: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(data)
        return path

    def _json(self, data: bytes) -> object:
        try:
            return parse_json(data)
        except ValueError:
            return None

    def _manifest(self, data: bytes) -> object:
        (self.folder / "raw" / "exit.json").unlink(missing_ok=True)
        self._file("manifest.json", data)
        return read_manifest(self.folder).ending

    def _guest(self, data: bytes) -> object:
        """Take what a machine might send; nothing may be written but below its own folder."""
        root = self.folder / "guest"
        shutil.rmtree(root, ignore_errors=True)
        (root / "run").mkdir(parents=True)
        received = Received(root / "run", root / "run" / "m.json", Bounds(1 << 16, 64))
        # As they come, and with the checksum that would let them in.
        heads = (struct.pack("<4sBII", MAGIC, kind, len(data), crc32(data)) for kind in (1, 2))
        for sent in (data, *(head + data for head in heads)):
            with contextlib.suppress(DamagedError):
                for one in Decoder().feed(sent):
                    if isinstance(one, Piece):
                        received.take(one)
        assert [one.name for one in root.iterdir()] == ["run"]
        assert {one.name for one in (root / "run").iterdir()} <= {"raw", "m.json"}
        return received.files_count

    def _exit(self, data: bytes) -> object:
        self._file("manifest.json", RUNNING)
        self._file("raw/exit.json", data)
        return read_manifest(self.folder).ending

    def _tuning(self, data: bytes) -> object:
        self._file("tuning.json", data)
        return read_tuning(self.folder).space.read()

    def _tuning_journal(self, data: bytes) -> object:
        self._file("journal.ndjson", data)
        return history_of(read_journal(self.folder, KINDS)).best

    def _tuning_memory(self, data: bytes) -> object:
        self._file("kept.json", data)
        store = remembered.read(self.folder)
        mine = Portrait(operators={"loads": 1}, shares={"on_cpu": 0.5}, sizes={"tasks_count": 2})
        tuning = Tuning.model_validate_json(TUNING)
        return recalled(mine, tuning, tuning.space.read(), store.tunings)

    def _workload(self, data: bytes) -> object:
        name = str(self._file("workload.yaml", data))
        made = read(name)
        levels = {name: variant.default for name, variant in variants(made).items()}
        return conf(made, levels), prepared(name, made)


def seeds() -> dict[str, list[bytes]]:
    """Give valid documents by the name of their reader."""
    run = EXAMPLES / "nightly" / "01"
    apps = [EXAMPLES / "apps" / f"{name}.yaml" for name in ("ranking", "segments")]
    experiments = [EXAMPLES / "apps" / "join.yaml"]
    experiments += [ROOT / "studies" / "experiments" / f"{name}.yaml" for name in EXPERIMENTS]
    journal = (EXAMPLES / "join" / "journal.ndjson").read_bytes().splitlines(keepends=True)
    return {
        "canary": [
            b'{"schema":"pyrometer/canary/1","state":"measured","begin_wall_ns":1,'
            b'"begin_mono_ns":2,"end_wall_ns":3,"end_mono_ns":4,"reason":null,'
            b'"alu_ns":[5.0,7.0],"latency_ns":[90.5],"copy_bytes_per_s":[8e9]}\n'
            b'{"schema":"pyrometer/canary/1","state":"not_free","begin_wall_ns":1,'
            b'"begin_mono_ns":2,"end_wall_ns":3,"end_mono_ns":4,"reason":"they are there"}\n'
        ],
        "chunk": [b"PYROCHNK\x01\0\0\0\x0d\0\0\0" + b'{"last":true}' + b"payload"],
        "constraint": [b"jvm.heap <= 0.9 * mem_total", b"not (cpus < 2 or a == b) and x >= 1.5"],
        "elf": [Path(os.path.realpath("/bin/sh")).read_bytes()[:8192]],
        "executor": [
            b'{"schema": "pyrometer/executor/1", "found": {"role": "executor", "app": "a",'
            b' "executor": "1", "pid": 7, "pid_inside": 8, "start_ticks": 9, "pod": "p"}}'
        ],
        "exit": [b'{"code": 0, "signal": null, "end_mono_ns": 5, "end_wall_ns": 6}'],
        "experiment": [path.read_bytes() for path in experiments],
        "guest": [
            say({"event": "machine"}) + piece(Piece("raw/a/b", 0, 0, b"x")),
            piece(Piece("raw/a", 1, 0, b"y"))[13:],
        ],
        "iterations": [(run / "raw" / "iterations.ndjson").read_bytes()],
        "journal": [b"".join(journal[:6])],
        "json": [b'{"a": [1, 2.5e3, true, null, "\\u00e9"]}'],
        "manifest": [
            (run / "manifest.json").read_bytes(),
            RUNNING.replace(b'"host": {}', b'"host": {}, "launcher": {"pid": 1, "start_ticks": 1}'),
        ],
        "pings": [
            b'{"k":"process","host":"a"}\n'
            b'{"k":"ping","sent_mono_ns":1,"driver_mono_ns":-9,"received_mono_ns":2}\n'
        ],
        "plan": [(EXAMPLES / "join" / "experiment.json").read_bytes()],
        "space": [SPACE],
        "study": [(ROOT / "studies" / "jdks.yaml").read_bytes()],
        "tuning": [TUNING],
        "tuning-journal": [TUNED, INFORMED],
        "tuning-memory": [KEPT],
        "workload": [path.read_bytes() for path in apps],
        "yaml": [b"a: [1, ~, 'x']\nb:\n  - {c: d}\n  - |\n    text\n", b"? a\n: !!str 3\n"],
    }
