from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.explain.planted import beside, holds, job, judged, only, samples, stack

from pyrometer.explain.catalogue.data.codec_compression import RULE as COMPRESSION
from pyrometer.explain.catalogue.data.codec_decompression import RULE as DECOMPRESSION
from pyrometer.explain.findings import explain
from pyrometer.explain.rule import Rule
from pyrometer.store import Run
from pyrometer.store.manifest import Host, Manifest, Workload, write_manifest

CASES = [(DECOMPRESSION, "decompression"), (COMPRESSION, "compression")]


@pytest.mark.parametrize(("rule", "category"), CASES)
def test_half_of_the_cpu_is_a_codecs(tmp_path: Path, rule: Rule, category: str) -> None:
    # 8 tasks of 1 s on two slots: 70 % on a CPU and 10 % waiting for one, half of it the codec's.
    world = job()
    samples(world, 0.5, category=category)
    found = only(world.write(tmp_path), rule)
    assert holds(found, 4 * 0.8 * 0.5 * 0.75)
    assert found.remedies[0].factor in (
        "spark.io.compression.codec", "spark.sql.parquet.compression.codec",
    )  # fmt: skip


@pytest.mark.parametrize(("rule", "category"), CASES)
def test_other_work_is_no_codec(tmp_path: Path, rule: Rule, category: str) -> None:
    world = job()
    samples(world, 0.5, category="hash")
    assert judged(world.write(tmp_path), rule).findings == []


@pytest.mark.parametrize(("rule", "category"), CASES)
def test_a_codec_that_costs_nothing_is_not_shown(tmp_path: Path, rule: Rule, category: str) -> None:
    world = job()
    samples(world, 0.01, category=category)
    assert not any(one.shown for one in judged(world.write(tmp_path), rule).findings)


TASK = "org.apache.spark.scheduler.Task.run"
PARQUET = "org.apache.spark.sql.execution.datasources.parquet.VectorizedParquetRecordReader.next"
SNAPPY = "org.xerial.snappy.SnappyNative.rawUncompress"
LZ4 = "net.jpountz.lz4.LZ4BlockInputStream.refill"
INFLATER = "java.util.zip.Inflater.inflate"
GZIP = ("java.util.zip.GZIPInputStream.read", INFLATER)
DATASOURCES = "org.apache.spark.sql.execution.datasources"
ORC = f"{DATASOURCES}.orc.OrcColumnarBatchReader.nextBatch"
LINES = f"{DATASOURCES}.HadoopFileLinesReader.next"
CSV = f"{DATASOURCES}.csv.CsvOutputWriter.write"
DEFLATER = "java.util.zip.Deflater.deflate"
STACKS = [
    ((TASK, LZ4), "spark.shuffle.compress", "false"),
    ((TASK, "org.apache.spark.sql.execution.datasources.FileFormatWriter.executeTask",
      "com.github.luben.zstd.ZstdInputStream.read"), "spark.io.compression.codec", "lz4"),
]  # fmt: skip


@pytest.mark.parametrize(("frames", "setting", "level"), STACKS)
def test_codec_and_place_are_of_the_stack(
    tmp_path: Path, frames: tuple[str, ...], setting: str, level: str
) -> None:
    world = job()
    samples(world, 0.9, category="decompression", java_stack=stack(world, *frames))
    (found,) = judged(world.write(tmp_path), DECOMPRESSION).findings
    assert (found.remedies[0].factor, found.remedies[0].level) == (setting, level)
    assert found.place.setting == setting


@pytest.mark.parametrize(
    ("frames", "after"),
    [
        ((TASK, PARQUET, SNAPPY), 'option("compression", "uncompressed").parquet('),
        ((TASK, PARQUET, *GZIP), 'option("compression", "zstd").parquet('),
        ((TASK, ORC, *GZIP), 'option("compression", "zstd").orc('),
        ((TASK, LINES, *GZIP), 'option("compression", "none").csv('),
    ],
)
@pytest.mark.parametrize("written", [0, 1])
def test_where_files_are_read_a_setting_does_nothing(
    tmp_path: Path, frames: tuple[str, ...], after: str, written: int
) -> None:
    world = job()
    samples(world, 0.9, category="decompression", java_stack=stack(world, *frames))
    for row in world.rows["tasks"]:
        row["output_bytes"] = written
    (found,) = judged(world.write(tmp_path), DECOMPRESSION).findings
    (remedy,) = found.remedies
    assert (remedy.kind, remedy.factor, found.place.setting) == ("code", None, None)
    assert after in (remedy.after or "")


@pytest.mark.parametrize(
    ("reader", "how"), [(PARQUET, "with zstd"), (LINES, "without compression")]
)
def test_that_no_codec_is_used_is_said_in_words(tmp_path: Path, reader: str, how: str) -> None:
    world = job()
    samples(world, 0.9, category="decompression", java_stack=stack(world, TASK, reader, *GZIP))
    (found,) = judged(world.write(tmp_path), DECOMPRESSION).findings
    assert found.remedies[0].text == f"write the data {how}"


@pytest.mark.parametrize(
    ("writer", "setting", "after"),
    [
        (PARQUET, "spark.sql.parquet.compression.codec", None),
        (ORC, "spark.sql.orc.compression.codec", None),
        (CSV, None, 'df.write.option("compression", "none").csv(path)'),
    ],
)
def test_the_codec_of_what_is_written_is_a_setting_of_its_format(
    tmp_path: Path, writer: str, setting: str | None, after: str | None
) -> None:
    world = job()
    samples(world, 0.9, category="compression", java_stack=stack(world, TASK, writer, DEFLATER))
    (found,) = judged(world.write(tmp_path), COMPRESSION).findings
    assert (found.remedies[0].factor, found.remedies[0].after) == (setting, after)


def test_a_workload_with_data_in_several_codecs_reads_another(tmp_path: Path) -> None:
    world = job()
    frames = (TASK, PARQUET, "java.util.zip.GZIPInputStream.read", INFLATER)
    samples(world, 0.9, category="decompression", java_stack=stack(world, *frames))
    run = world.write(tmp_path)
    manifest = Manifest(
        run_id="1", created_wall_ns=1, pyrometer_version="0", profile="full", state="finished",
        workload=Workload(name="parquet-scan", variant={"data.codec": "gzip"}), host=Host(),
    )  # fmt: skip
    write_manifest(run, manifest)
    (found,) = judged(run, DECOMPRESSION).findings
    assert (found.remedies[0].factor, found.remedies[0].level) == ("data.codec", "zstd")


@pytest.mark.parametrize(
    "frames",
    [
        (TASK, PARQUET, "java.lang.ClassLoader.loadClass", INFLATER),
        (TASK, "org.apache.parquet.hadoop.util.SerializationUtil.writeObjectToConfAsBase64",
         "java.util.zip.Deflater.deflate"),
        (TASK, PARQUET, "org.xerial.snappy.SnappyLoader.extractLibraryFile"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("rule", "category"), CASES)
def test_code_that_is_unpacked_is_no_data(
    tmp_path: Path, frames: tuple[str, ...], rule: Rule, category: str
) -> None:
    world = job()
    samples(world, 0.9, category=category, java_stack=stack(world, *frames))
    assert judged(world.write(tmp_path), rule).findings == []


def test_files_and_blocks_are_two_findings(tmp_path: Path) -> None:
    world = job()
    file, block = stack(world, TASK, PARQUET, SNAPPY), stack(world, TASK, LZ4)
    samples(world, 0.9, category="decompression", java_stack=file)
    own = [row for row in world.rows["samples"] if row.get("java_stack") == file]
    for row in own[::3]:
        row["java_stack"] = block
    found = judged(world.write(tmp_path), DECOMPRESSION)
    assert {one.place.setting for one in found.findings} == {None, "spark.shuffle.compress"}
    assert not any(one.symptoms for one in found.findings)


def test_another_application_does_not_choose_the_codec(tmp_path: Path) -> None:
    world = job()
    samples(world, 0.5, category="decompression", java_stack=stack(world, TASK, PARQUET, SNAPPY))
    other = {"category": "decompression", "java_stack": stack(world, TASK, LINES, *GZIP)}
    own = [row for row in world.rows["samples"] if row["event"] == "cpu"]
    world.rows["samples"] += [{**row, **other, "thread_name": "other"} for row in own]
    beside(world, "samples", thread_name="other")
    (found,) = judged(world.write(tmp_path), DECOMPRESSION).findings
    assert found.remedies[0].after is not None
    assert ".parquet(" in found.remedies[0].after


def test_both_directions_are_two_findings(tmp_path: Path) -> None:
    world = job()
    samples(world, 0.8, category="decompression")
    own = [row for row in world.rows["samples"] if row.get("category") == "decompression"]
    for row in own[::2]:
        row["category"] = "compression"
    with Run.open(world.write(tmp_path)) as run:
        found = explain(run, rules=[COMPRESSION, DECOMPRESSION]).findings
    assert {one.code for one in found} == {COMPRESSION.code, DECOMPRESSION.code}
