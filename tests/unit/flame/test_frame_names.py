"""Names of frames, the same in every JVM."""

from __future__ import annotations

import pytest

from pyrometer.flame.difference.paths import define_frame_names
from pyrometer.flame.names import RUNNERS, runners, stable_name
from pyrometer.store.tables import Tables
from pyrometer.store.write_tables import write_rows

GENERATED = "org.apache.spark.sql.catalyst.expressions.GeneratedClass$"
SAME = [
    # class, method; class, method in another JVM; name
    (
        ("a.B$$Lambda$1234.0x0000000800a1", "apply"),
        ("a.B$$Lambda$7/0x00007f01", "apply"),
        "a.B$$Lambda.apply",
    ),
    (("a.B$$Lambda/0x00007f02", "run"), ("a.B$$Lambda.0x01", "run"), "a.B$$Lambda.run"),
    (("a.B$$Lambda/1234", "run"), ("a.B$$Lambda", "run"), "a.B$$Lambda.run"),
    (("a.B", "lambda$foo$3"), ("a.B", "lambda$foo$12"), "a.B.lambda$foo$*"),
    (
        ("a.B$", "$anonfun$foo$1$adapted"),
        ("a.B$", "$anonfun$foo$9$adapted"),
        "a.B$.$anonfun$foo$*$adapted",
    ),
    (("a.B$$anon$2", "next"), ("a.B$$anon$41", "next"), "a.B$$anon$*.next"),
    (("a.B$$anonfun$f$1", "apply"), ("a.B$$anonfun$f$2", "apply"), "a.B$$anonfun$f$*.apply"),
    (("a.B$5$1", "accept"), ("a.B$6$2", "accept"), "a.B$*$*.accept"),
    (
        ("com.sun.proxy.jdk.proxy1.$Proxy34", "<clinit>"),
        ("com.sun.proxy.jdk.proxy2.$Proxy7", "<clinit>"),
        "com.sun.proxy.jdk.proxy*.$Proxy*.<clinit>",
    ),
    (
        ("jdk.internal.reflect.GeneratedConstructorAccessor33", "newInstance"),
        ("jdk.internal.reflect.GeneratedConstructorAccessor4", "newInstance"),
        "jdk.internal.reflect.GeneratedConstructorAccessor*.newInstance",
    ),
    (
        ("java.lang.invoke.LambdaForm$MH.0x00007f6c2c", "invoke"),
        ("java.lang.invoke.LambdaForm$MH/0x0000000800c7", "invoke"),
        "java.lang.invoke.LambdaForm$MH.invoke",
    ),
    (
        (GENERATED + "SpecificUnsafeProjection", "writeFields_0_3$"),
        (GENERATED + "SpecificUnsafeProjection", "writeFields_1_12"),
        GENERATED + "SpecificUnsafeProjection.writeFields",
    ),
    (
        (GENERATED + "GeneratedIteratorForCodegenStage4", "project_value_12"),
        (GENERATED + "GeneratedIteratorForCodegenStage17", "project_value_3$"),
        "WholeStageCodegen[*].project_value",
    ),
    (
        (GENERATED + "GeneratedIteratorForCodegenStage4$hashAgg_FastHashMap_0", "hash$"),
        (GENERATED + "GeneratedIteratorForCodegenStage5$hashAgg_FastHashMap_1", "hash"),
        GENERATED + "GeneratedIteratorForCodegenStage*$hashAgg_FastHashMap.hash",
    ),
    (
        (None, "/tmp/snappy-1.1.10-15d75160-2d0e-48ac-b52d-1ba71fad07fa-libsnappyjava.so"),
        (None, "/tmp/snappy-1.1.10-bc3830a5-a89f-4647-845b-077bf5434df9-libsnappyjava.so"),
        "/tmp/snappy-1.1.10-*-libsnappyjava.so",
    ),
]  # fmt: skip
SHOWN = [
    # class, method; name in the flame graph of one run
    (None, "/tmp/snappy-1.1.10-15d75160-2d0e-48ac-b52d-1ba71fad07fa-libsnappyjava.so",
     "/tmp/snappy-1.1.10-*-libsnappyjava.so"),
    (None, "/tmp/liblz4-java-8273498234155.so", "/tmp/liblz4-java-*.so"),
    (None, "/tmp/jansi-2.4.0-3f2a1bd04c5e6f70-libjansi.so", "/tmp/jansi-2.4.0-*-libjansi.so"),
    (None, "/memfd:doublemapper (deleted)", "/memfd:doublemapper"),
    (None, "[anon:.bss 7f3a]", "[anon]"),
    (None, "/tmp/perf-4711.map", "/tmp/perf-*.map"),
    (None, "/tmp/tmpx3k_9a1z/lib.so", "/tmp/tmp*/lib.so"),
    ("a.B$$Lambda$1234.0x0000000800a1", "apply", "a.B$$Lambda.apply"),
    ("a.B$$Lambda/0x00007f02a1b2c3d4", "apply", "a.B$$Lambda.apply"),
    ("jdk.internal.reflect.GeneratedMethodAccessor33", "invoke",
     "jdk.internal.reflect.GeneratedMethodAccessor*.invoke"),
    # What tells two places of a program or a plan apart stays.
    (GENERATED + "GeneratedIteratorForCodegenStage5", "sort_addToSorter_0$",
     GENERATED + "GeneratedIteratorForCodegenStage5.sort_addToSorter_0$"),
    ("a.B$$anon$2", "next", "a.B$$anon$2.next"),
    (None, "/usr/lib/x86_64-linux-gnu/libz.so.1.2.13", "/usr/lib/x86_64-linux-gnu/libz.so.1.2.13"),
    (None, "Dict::operator[]", "Dict::operator[]"),
]  # fmt: skip
APART = [
    ("a.Float64", "read8"),
    ("a.Float32", "read8"),
    ("a.B", "copy$default$1"),
    ("a.B", "copy$default$2"),
    ("a.B", "value_1"),
    ("a.B", "value_2"),
    (None, "__memset_avx512_unaligned_erms"),
    (None, "void f<402470ul>"),
]


def names(tmp_path, frames):
    rows = [
        {"frame_id": n, "class_name": c, "method": m, "line": 7 * n, "kind": "c2"}
        for n, (c, m) in enumerate(frames)
    ]
    write_rows(tmp_path, "frames", rows)
    with Tables(tmp_path) as tables:
        define_frame_names(tables)
        return [r[0] for r in tables.query("SELECT name FROM frame_names ORDER BY frame_id")]


def test_numbers_that_a_jvm_hands_out_are_no_part_of_a_name(tmp_path):
    one = names(tmp_path, [pair[0] for pair in SAME])
    other = names(tmp_path, [pair[1] for pair in SAME])
    assert one == other == [pair[2] for pair in SAME]


def test_what_an_author_named_keeps_its_numbers(tmp_path):
    assert names(tmp_path, APART) == [f"{c}.{m}" if c else m for c, m in APART]


@pytest.mark.parametrize("number", [1, 12])
def test_an_iterator_tells_its_cluster(tmp_path, number):
    frames = [(f"{GENERATED}GeneratedIteratorForCodegenStage{number}", "sort_addToSorter_0$")]
    names(tmp_path, frames)
    with Tables(tmp_path) as tables:
        define_frame_names(tables)
        row = tables.record("SELECT cluster, method FROM frame_names")
    assert row == {"cluster": number, "method": "sort_addToSorter"}


def test_what_a_run_handed_out_is_one_name(tmp_path):
    rows = [
        {"frame_id": n, "class_name": c, "method": m, "line": n, "kind": "native"}
        for n, (c, m, _) in enumerate(SHOWN)
    ]
    write_rows(tmp_path, "frames", rows)
    with Tables(tmp_path) as tables:
        found = tables.query(f"SELECT {stable_name()} FROM frames ORDER BY frame_id")
    assert [row[0] for row in found] == [name for _, _, name in SHOWN]


def test_runners_lead_on_and_work_does_not():
    def kinds(names):
        return [RUNNERS[k - 1][0] if k else None for k in runners(names)]

    assert kinds([
        "java.lang.Thread.run", "java.util.concurrent.ThreadPoolExecutor$Worker.run",
        "start_thread",
        "org.apache.spark.executor.Executor$TaskRunner.$anonfun$run$4",
        "org.apache.spark.rdd.MapPartitionsRDD.compute", "pyspark.daemon.manager",
        "scala.collection.Iterator$$anon$9.hasNext", "entry_SYSCALL_64_after_hwframe",
    ]) == [*["start of a thread"] * 3, *["Spark's task runner"] * 2, "PySpark's worker loop",
           "Spark's task runner", "entry"]  # fmt: skip
    assert kinds([
        "org.apache.spark.shuffle.ShuffleWriteProcessor.write", "java.lang.Thread.sleep", "a.main",
        "pyspark.daemon.[imports, forks workers]", "pyspark.worker.read_udfs.<locals>.func",
        GENERATED + "GeneratedIteratorForCodegenStage1.processNext",
        "org.apache.spark.rdd.RDD.count",
        "org.apache.spark.executor.Executor.fetch", "scala.collection.Iterator.foreach",
        "[no stack]",
    ]) == [None] * 10  # fmt: skip
