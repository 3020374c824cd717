use super::*;
use crate::frame::FrameKind;

/// Leaf first; `library!symbol` and `kernel!symbol` are native, others Java.
fn classify(stack: &str) -> (String, Option<String>, Option<i32>, String) {
    let rules = Rules::embedded();
    let facts: Vec<Facts> = stack
        .split_whitespace()
        .map(|text| {
            let (place, method, kind) = match text.split_once('!') {
                Some(("kernel", symbol)) => ("", symbol, FrameKind::Kernel),
                Some((library, symbol)) => (library, symbol, FrameKind::Cpp),
                None => {
                    let (class, method) = text.rsplit_once('.').unwrap_or(("", text));
                    (class, method, FrameKind::C2)
                }
            };
            rules.facts(&Frame {
                place,
                method,
                kind,
            })
        })
        .collect();
    let verdict = rules.classify(&facts);
    let operator = rules.operator(&verdict).map(str::to_owned);
    let wait = rules.wait_class(&verdict).to_owned();
    (
        rules.category("task", &verdict).to_owned(),
        operator,
        verdict.codegen_stage_id,
        wait,
    )
}

const GENERATED: &str =
    "org.apache.spark.sql.catalyst.expressions.GeneratedClass$GeneratedIteratorForCodegenStage2";

/// Stacks of the kinds that async-profiler records on Spark, shortened or put together by hand,
/// with what a reader of the stack would say they were doing.
#[test]
fn stacks_are_told_as_a_reader_would() {
    let cases = [
        // reflection works for its caller; making what it calls through does not
        (
            "serialisation",
            "WholeStageCodegen",
            "java.lang.reflect.Constructor.newInstanceWithCaller java.lang.reflect.Constructor.newInstance java.io.ObjectStreamClass.newInstance java.io.ObjectInputStream.readOrdinaryObject GENERATED.processNext",
        ),
        (
            "serialisation",
            "WholeStageCodegen",
            "jdk.internal.reflect.GeneratedMethodAccessor18.invoke jdk.internal.reflect.DelegatingMethodAccessorImpl.invoke java.lang.reflect.Method.invoke java.io.ObjectStreamClass.invokeReadObject GENERATED.processNext",
        ),
        (
            "vm",
            "WholeStageCodegen",
            "jdk.internal.reflect.MethodAccessorGenerator.generate jdk.internal.reflect.NativeMethodAccessorImpl.invoke java.lang.reflect.Method.invoke java.io.ObjectStreamClass.invokeReadObject GENERATED.processNext",
        ),
        // decimals: conversion, arithmetic and access are three things
        (
            "cast",
            "BroadcastNestedLoopJoin",
            "java.math.BigDecimal.multiply GENERATED.bnlj_doConsume_0$ GENERATED.processNext",
        ),
        (
            "cast",
            "BroadcastNestedLoopJoin",
            "org.apache.spark.sql.types.Decimal.changePrecision org.apache.spark.sql.catalyst.expressions.CastUtils.changePrecisionExact GENERATED.bnlj_doConsume_0$",
        ),
        (
            "cast",
            "WholeStageCodegen",
            "java.math.BigInteger.<init> java.math.BigInteger.valueOf scala.math.BigInt.bigInteger scala.math.BigDecimal$.apply org.apache.spark.sql.types.Decimal.toBigDecimal org.apache.spark.sql.types.Decimal.toDouble GENERATED.processNext",
        ),
        (
            "operator",
            "BroadcastNestedLoopJoin",
            "java.math.BigDecimal.precision scala.math.BigDecimal$.exact scala.math.BigDecimal$.apply scala.math.BigDecimal$.apply org.apache.spark.sql.types.Decimal.toBigDecimal org.apache.spark.sql.types.Decimal.compare GENERATED.bnlj_doConsume_0$",
        ),
        (
            "operator",
            "BroadcastNestedLoopJoin",
            "java.math.BigDecimal.precision scala.math.BigDecimal.precision org.apache.spark.sql.types.Decimal.set org.apache.spark.sql.types.Decimal$.apply org.apache.spark.sql.types.Decimal.apply org.apache.spark.sql.catalyst.expressions.UnsafeRow.getDecimal GENERATED.bnlj_doConsume_0$",
        ),
        (
            "operator",
            "WholeStageCodegen",
            "org.apache.spark.sql.types.Decimal$.createUnsafe org.apache.spark.sql.execution.vectorized.WritableColumnVector.getDecimal GENERATED.hashAgg_doAggregateWithoutKey_0$",
        ),
        (
            "cast",
            "Project",
            "jdk.internal.math.FloatingDecimal.readJavaFormatString jdk.internal.math.FloatingDecimal.parseDouble java.lang.Double.parseDouble GENERATED.project_doConsume_0$",
        ),
        (
            "cast",
            "Filter",
            "org.apache.spark.unsafe.types.UTF8String.toLong GENERATED.filter_doConsume_0$",
        ),
        (
            "cast",
            "WholeStageCodegen",
            "org.apache.spark.sql.catalyst.util.SparkDateTimeUtils.stringToTimestamp org.apache.spark.sql.catalyst.util.DateTimeUtils$.stringToTimestamp GENERATED.processNext",
        ),
        // scans
        (
            "decode",
            "Scan parquet",
            "org.apache.parquet.column.values.plain.PlainValuesReader.readInteger org.apache.spark.sql.execution.datasources.parquet.VectorizedColumnReader.readBatch org.apache.spark.sql.execution.datasources.parquet.VectorizedParquetRecordReader.nextBatch org.apache.spark.sql.execution.datasources.FileScanRDD$$anon$1.hasNext GENERATED.columnartorow_nextBatch_0$ GENERATED.processNext",
        ),
        (
            "decompression",
            "Scan parquet",
            "libsnappyjava.so!snappy::RawUncompress libsnappyjava.so!Java_org_xerial_snappy_SnappyNative_rawUncompress org.xerial.snappy.SnappyNative.rawUncompress org.xerial.snappy.Snappy.uncompress org.apache.parquet.hadoop.codec.SnappyDecompressor.uncompress org.apache.parquet.hadoop.ColumnChunkPageReadStore$ColumnChunkPageReader.readPage",
        ),
        (
            "decompression",
            "Scan parquet",
            "libzstd-jni-1.5.7-6.so!ZSTD_decompressBlock_internal com.github.luben.zstd.ZstdInputStreamNoFinalizer.readInternal org.apache.parquet.hadoop.codec.ZstdDecompressorStream.read org.apache.parquet.hadoop.ColumnChunkPageReadStore$ColumnChunkPageReader.readPage",
        ),
        (
            "decompression",
            "Scan parquet",
            "libz.so.1.2.13!inflate libzip.so!Java_java_util_zip_Inflater_inflateBytesBytes java.util.zip.Inflater.inflate org.apache.parquet.hadoop.ColumnChunkPageReadStore$ColumnChunkPageReader.readPage",
        ),
        (
            "io",
            "Scan parquet",
            "kernel!copy_page_to_iter kernel!filemap_read kernel!vfs_read kernel!ksys_read libc.so.6!read libjava.so!readBytes java.io.FileInputStream.readBytes org.apache.hadoop.fs.RawLocalFileSystem$LocalFSFileInputStream.read org.apache.parquet.hadoop.ParquetFileReader.readNextRowGroup",
        ),
        (
            "decode",
            "Scan json",
            "com.fasterxml.jackson.core.json.ReaderBasedJsonParser.nextToken org.apache.spark.sql.catalyst.json.JacksonParser.parse",
        ),
        (
            "decode",
            "Scan csv",
            "com.univocity.parsers.common.input.AbstractCharInputReader.nextChar com.univocity.parsers.csv.CsvParser.parseRecord org.apache.spark.sql.catalyst.csv.UnivocityParser.parse",
        ),
        // memory
        (
            "memory",
            "WholeStageCodegen",
            "kernel!clear_page_erms kernel!do_anonymous_page kernel!handle_mm_fault kernel!asm_exc_page_fault java.math.BigInteger.valueOf GENERATED.processNext",
        ),
        (
            "memory",
            "Scan parquet",
            "libc.so.6!__memset_avx512_unaligned_erms libjvm.so!ObjArrayAllocator::initialize libjvm.so!MemAllocator::allocate libjvm.so!OptoRuntime::new_array_C _new_array_Java java.nio.ByteBuffer.allocate org.apache.parquet.hadoop.ParquetFileReader.readNextRowGroup",
        ),
        // exchange, sort, hash
        (
            "sort",
            "Sort",
            "org.apache.spark.util.collection.unsafe.sort.RadixSort.sortKeyPrefixArrayAtByte org.apache.spark.util.collection.unsafe.sort.UnsafeInMemorySorter.getSortedIterator org.apache.spark.sql.execution.UnsafeExternalRowSorter.sort GENERATED.sort_addToSorter_0$",
        ),
        (
            "sort",
            "Exchange write",
            "org.apache.spark.util.collection.unsafe.sort.RadixSort.sort org.apache.spark.shuffle.sort.ShuffleInMemorySorter.getSortedIterator org.apache.spark.shuffle.sort.UnsafeShuffleWriter.write",
        ),
        (
            "shuffle_write",
            "Exchange write",
            "org.apache.spark.unsafe.Platform.copyMemory$ org.apache.spark.shuffle.sort.ShuffleExternalSorter.insertRecord org.apache.spark.shuffle.sort.UnsafeShuffleWriter.write",
        ),
        (
            "compression",
            "Exchange write",
            "liblz4-java.so!LZ4_compress_fast net.jpountz.lz4.LZ4JNICompressor.compress net.jpountz.lz4.LZ4BlockOutputStream.flushBufferedData org.apache.spark.shuffle.sort.UnsafeShuffleWriter.write",
        ),
        (
            "shuffle_read",
            "Exchange read",
            "org.apache.spark.storage.ShuffleBlockFetcherIterator.next org.apache.spark.shuffle.BlockStoreShuffleReader.read",
        ),
        (
            "hash",
            "HashAggregate",
            "org.apache.spark.unsafe.map.BytesToBytesMap.safeLookup org.apache.spark.sql.execution.UnsafeFixedWidthAggregationMap.getAggregationBufferFromUnsafeRow GENERATED.hashAgg_doConsume_0$",
        ),
        (
            "hash",
            "BroadcastHashJoin",
            "org.apache.spark.sql.execution.joins.LongToUnsafeRowMap.getValue org.apache.spark.sql.execution.joins.LongHashedRelation.getValue GENERATED.bhj_doConsume_0$",
        ),
        (
            "operator",
            "SortMergeJoin",
            "GENERATED.smj_findNextJoinRows_0$ GENERATED.processNext",
        ),
        // Python, UDF, serialisation
        (
            "python_bridge",
            "BatchEvalPython",
            "net.razorvine.pickle.Pickler.save org.apache.spark.sql.execution.python.BatchEvalPythonExec$$anon$1.next",
        ),
        (
            "udf",
            "WholeStageCodegen",
            "com.acme.etl.Scrub$.clean com.acme.etl.Job$.$anonfun$main$1 GENERATED.processNext",
        ),
        (
            "udf",
            "MapElements",
            "java.lang.String.indexOf Main$$Lambda.apply GENERATED.mapelements_doConsume_0$",
        ),
        // the programs that Pyrometer brings along are users' programs
        (
            "udf",
            "Project",
            "org.pyrometer.workloads.truth.Calibrated.row java.lang.reflect.Method.invoke org.apache.spark.sql.catalyst.expressions.CallMethodViaReflection.eval GENERATED.project_doConsume_0$",
        ),
        (
            "serialisation",
            "Exchange write",
            "java.io.ObjectOutputStream.writeObject0 org.apache.spark.serializer.JavaSerializationStream.writeObject org.apache.spark.shuffle.sort.BypassMergeSortShuffleWriter.write",
        ),
    ];
    let mut wrong = Vec::new();
    for (category, operator, stack) in cases {
        let (got_category, got_operator, _, _) = classify(&stack.replace("GENERATED", GENERATED));
        if (got_category.as_str(), got_operator.as_deref()) != (category, Some(operator)) {
            wrong.push(format!(
                "{stack}\n  wanted {category} {operator}, got {got_category} {got_operator:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_has_no_operator_has_a_place_or_a_category_all_the_same() {
    let cases = [
        (
            "vm",
            Some("Class loading"),
            "libjvm.so!SymbolTable::do_lookup libjvm.so!ClassFileParser::parse_stream libjvm.so!SystemDictionary::resolve_class_from_stream java.lang.ClassLoader.defineClass1 java.lang.ClassLoader.loadClass",
        ),
        // inflating a jar while a class is loaded is class loading, not decompression
        (
            "vm",
            Some("Class loading"),
            "libz.so.1.2.13!inflate java.util.zip.Inflater.inflate jdk.internal.loader.BuiltinClassLoader.loadClassOrNull java.lang.ClassLoader.loadClass",
        ),
        (
            "codegen",
            Some("Code generation"),
            "java.util.HashMap.get org.codehaus.janino.UnitCompiler.compile2 org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator$.compile",
        ),
        (
            "codegen",
            Some("Code generation"),
            "libjvm.so!ClassFileParser::parse_stream java.lang.ClassLoader.defineClass org.codehaus.janino.ByteArrayClassLoader.findClass org.codehaus.janino.SimpleCompiler.cook",
        ),
        // the profiler's own stack walk inside the JVM
        (
            "pyrometer",
            Some("Pyrometer"),
            "libjvm.so!vframe::sender libjvm.so!jvmti_GetStackTrace libasyncProfiler.so!Profiler::recordSample libasyncProfiler.so!ObjectSampler::recordAllocation libjvm.so!JvmtiExport::post_sampled_object_alloc libjvm.so!MemAllocator::allocate",
        ),
        (
            "pyrometer",
            Some("Pyrometer"),
            "java.util.HashMap.get org.pyrometer.plugin.PyrometerListener.onTaskEnd",
        ),
        (
            "pyrometer",
            Some("Pyrometer"),
            "kernel!clear_page_erms kernel!asm_exc_page_fault libasyncProfiler.so!WallClock::signalHandler libc.so.6!__restore_rt",
        ),
        // every park passes through the profiler
        (
            "scheduler",
            None,
            "kernel!futex_wait kernel!do_futex libc.so.6!___pthread_cond_timedwait libjvm.so!Parker::park libjvm.so!Unsafe_Park libasyncProfiler.so!LockTracer::UnsafeParkHook jdk.internal.misc.Unsafe.park java.util.concurrent.locks.LockSupport.parkNanos java.lang.Thread.run",
        ),
        (
            "scheduler",
            Some("Task upkeep"),
            "scala.collection.mutable.ArrayBuffer.<init> org.apache.spark.TaskContextImpl.invokeListeners org.apache.spark.scheduler.Task.run org.apache.spark.executor.Executor$TaskRunner.run java.lang.Thread.run",
        ),
        ("other", None, "java.util.HashMap.get java.lang.Thread.run"),
        ("other", None, ""),
    ];
    for (category, place, stack) in cases {
        let (got, operator, _, _) = classify(stack);
        assert_eq!(
            (got.as_str(), operator.as_deref()),
            (category, place),
            "{stack}"
        );
    }
}

/// Operator of a stack whose frames are written as in [`classify`], `GENERATED` for generated code.
fn operator(stack: &str) -> Option<String> {
    classify(&stack.replace("GENERATED", GENERATED)).1
}

/// The frame nearest the leaf that names an operator decides; code outside SQL gives way to an
/// operator that called it, but not to one that only asked for its rows.
#[test]
fn operators_are_told_apart() {
    const TASK: &str = "org.apache.spark.rdd.RDD.iterator org.apache.spark.scheduler.ResultTask.runTask org.apache.spark.scheduler.Task.run org.apache.spark.executor.Executor$TaskRunner.run";
    const WRITE: &str = "org.apache.spark.util.collection.ExternalSorter.insertAll org.apache.spark.shuffle.sort.SortShuffleWriter.write org.apache.spark.shuffle.ShuffleWriteProcessor.write";
    let cases = [
        // reading and writing an exchange
        (
            "Exchange read",
            "java.io.DataInputStream.readInt org.apache.spark.sql.execution.UnsafeRowSerializerInstance$$anon$2$$anon$3.readSize scala.collection.Iterator$$anon$9.next GENERATED.processNext",
        ),
        (
            "Exchange write",
            "org.apache.spark.sql.catalyst.expressions.UnsafeRow.writeToStream org.apache.spark.sql.execution.UnsafeRowSerializerInstance$$anon$1.writeValue org.apache.spark.storage.DiskBlockObjectWriter.write",
        ),
        (
            "Exchange write",
            "org.apache.spark.sql.catalyst.expressions.GeneratedClass$SpecificUnsafeProjection.apply org.apache.spark.sql.execution.exchange.ShuffleExchangeExec$.$anonfun$prepareShuffleDependency$8 org.apache.spark.shuffle.sort.UnsafeShuffleWriter.write",
        ),
        // a writer of 3.5 computes its input itself: what it starts there is none of its own
        (
            "Code generation",
            "org.codehaus.janino.Parser.parse org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator$.compile org.apache.spark.sql.execution.WholeStageCodegenEvaluatorFactory$WholeStageCodegenPartitionEvaluator.eval org.apache.spark.rdd.MapPartitionsRDD.compute org.apache.spark.rdd.RDD.iterator org.apache.spark.shuffle.ShuffleWriteProcessor.write",
        ),
        (
            "RDD",
            "org.apache.spark.rdd.RDD.iterator org.apache.spark.shuffle.ShuffleWriteProcessor.write",
        ),
        // interpreted operators
        (
            "Project",
            "org.apache.spark.sql.catalyst.expressions.GeneratedClass$SpecificUnsafeProjection.apply org.apache.spark.sql.execution.ProjectEvaluatorFactory$ProjectPartitionEvaluator.$anonfun$eval$1 scala.collection.Iterator$$anon$9.next org.apache.spark.sql.execution.SparkPlan.$anonfun$getByteArrayRdd$1",
        ),
        // an iterator that calls a projection itself is that of a projection
        (
            "Projection",
            "com.acme.Job.f org.apache.spark.sql.catalyst.expressions.GeneratedClass$SpecificUnsafeProjection.apply scala.collection.Iterator$$anon$9.next org.apache.spark.sql.execution.SparkPlan.$anonfun$getByteArrayRdd$1",
        ),
        // objects that an operator's function deserialises are no start of a task
        (
            "Projection",
            "java.io.ObjectInputStream.readObject org.apache.spark.serializer.JavaSerializerInstance.deserialize com.acme.Job.f org.apache.spark.sql.catalyst.expressions.GeneratedClass$SpecificUnsafeProjection.apply scala.collection.Iterator$$anon$9.next org.apache.spark.sql.execution.SparkPlan.$anonfun$getByteArrayRdd$1",
        ),
        (
            "RDD",
            "java.io.ObjectInputStream.readObject org.apache.spark.serializer.JavaSerializerInstance.deserialize com.acme.Job.f org.apache.spark.rdd.MapPartitionsRDD.compute",
        ),
        (
            "EvalPython",
            "org.apache.spark.sql.catalyst.expressions.GeneratedClass$SpecificUnsafeProjection.apply org.apache.spark.sql.execution.python.EvalPythonEvaluatorFactory$EvalPythonPartitionEvaluator.$anonfun$eval$5 scala.collection.Iterator$$anon$9.next org.apache.spark.sql.execution.SparkPlan.$anonfun$getByteArrayRdd$1",
        ),
        (
            "Window",
            "org.apache.spark.util.collection.unsafe.sort.UnsafeExternalSorter.insertRecord org.apache.spark.sql.execution.ExternalAppendOnlyUnsafeRowArray.add org.apache.spark.sql.execution.window.WindowPartitionEvaluator$$anon$1.fetchNextPartition GENERATED.processNext",
        ),
        (
            "WindowGroupLimit",
            "org.apache.spark.sql.execution.window.RankLimitIterator.increaseRank org.apache.spark.sql.execution.window.BaseLimitIterator.next",
        ),
        (
            "SortMergeJoin",
            "java.util.ArrayList.add org.apache.spark.sql.execution.ExternalAppendOnlyUnsafeRowArray.add",
        ),
        (
            "MergeRows",
            "org.apache.spark.sql.execution.datasources.v2.MergeRowsExec$BasicMergeRowIterator.next",
        ),
        (
            "CollectMetrics",
            "org.apache.spark.sql.execution.CollectMetricsExec.$anonfun$doExecute$1",
        ),
        (
            "TransformWithState",
            "org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec.$anonfun$processData$1",
        ),
        (
            "HashAggregate",
            "org.apache.spark.unsafe.Platform.getLong GENERATED$hashAgg_FastHashMap_0.findOrInsert GENERATED.hashAgg_doAggregateWithKeys_0$",
        ),
        (
            "Scan",
            "org.apache.spark.sql.execution.datasources.jdbc.JdbcUtils$$anon$1.getNext GENERATED.processNext",
        ),
        (
            "Scan xml",
            "javax.xml.stream.XMLEventReader.nextEvent org.apache.spark.sql.catalyst.xml.StaxXmlParser.parse GENERATED.processNext",
        ),
        // Python
        (
            "ArrowEvalPython",
            "org.apache.spark.sql.execution.python.ArrowEvalPythonEvaluatorFactory$$anon$2.<init> GENERATED.processNext",
        ),
        (
            "Python",
            "java.io.DataInputStream.readInt org.apache.spark.sql.execution.python.PythonArrowOutput$$anon$1.read org.apache.spark.api.python.BasePythonRunner$ReaderIterator.hasNext GENERATED.processNext",
        ),
        (
            "FlatMapGroupsInPandas",
            "org.apache.spark.sql.execution.python.FlatMapGroupsInPandasExec.$anonfun$doExecute$1",
        ),
        // users' functions: the operator's, where one called them
        (
            "WholeStageCodegen",
            "com.acme.Job.$anonfun$main$1 GENERATED.processNext",
        ),
        (
            "WholeStageCodegen",
            "org.apache.spark.ml.feature.Tokenizer.$anonfun$createTransformFunc$1 GENERATED.processNext org.apache.spark.shuffle.sort.UnsafeShuffleWriter.write",
        ),
        // ... and the RDD's, where an operator only asked for rows
        (
            "RDD",
            "java.lang.String.split com.acme.Words.lambda$main$0 org.apache.spark.api.java.JavaRDDLike.$anonfun$flatMap$1 scala.collection.Iterator$$anon$10.hasNext",
        ),
        (
            "RDD",
            "org.apache.spark.rdd.RDD.$anonfun$keyBy$1 scala.collection.Iterator$$anon$9.next",
        ),
        (
            "MLlib",
            "dev.ludovic.netlib.blas.AbstractBLAS.ddot org.apache.spark.ml.linalg.BLAS$.dot org.apache.spark.mllib.clustering.DistanceMeasure.findClosest org.apache.spark.rdd.RDD.$anonfun$mapPartitions$2",
        ),
        (
            "GraphX",
            "scala.runtime.BoxesRunTime.unboxToDouble org.apache.spark.graphx.impl.EdgePartition.aggregateMessagesEdgeScan org.apache.spark.rdd.RDD.$anonfun$mapPartitions$2",
        ),
        (
            "RDD",
            "org.apache.spark.util.SizeEstimator$.estimate org.apache.spark.storage.memory.MemoryStore.putIterator org.apache.spark.storage.BlockManager.$anonfun$doPutIterator$1 org.apache.spark.graphx.EdgeRDD.compute",
        ),
        // a task's own
        (
            "Task start",
            "com.acme.Words.$deserializeLambda$ java.io.ObjectInputStream.readObject org.apache.spark.serializer.JavaSerializerInstance.deserialize org.apache.spark.scheduler.ResultTask.runTask",
        ),
        (
            "Task start",
            "org.apache.spark.broadcast.TorrentBroadcast.readBroadcastBlock org.apache.spark.scheduler.ResultTask.runTask",
        ),
        (
            "BroadcastHashJoin",
            "org.apache.spark.broadcast.TorrentBroadcast.readBroadcastBlock org.apache.spark.sql.execution.joins.BroadcastHashJoinExec.inputRDDs",
        ),
        (
            "Task result",
            "org.apache.spark.serializer.JavaSerializationStream.writeObject org.apache.spark.serializer.SerializerHelper$.serializeToChunkedBuffer org.apache.spark.executor.Executor$TaskRunner.run",
        ),
        (
            "Task upkeep",
            "org.apache.spark.internal.Logging.logInfo org.apache.spark.executor.Executor$TaskRunner.run",
        ),
        (
            "Collect",
            "net.jpountz.lz4.LZ4BlockOutputStream.write org.apache.spark.sql.execution.SparkPlan.$anonfun$getByteArrayRdd$2 org.apache.spark.rdd.RDD.$anonfun$mapPartitionsInternal$2",
        ),
        // a class that an operator needs is loaded for the operator
        (
            "Sort",
            "java.lang.ClassLoader.loadClass org.apache.spark.sql.execution.SortExec.createSorter",
        ),
        ("Class loading", "java.lang.ClassLoader.loadClass"),
    ];
    let mut wrong = Vec::new();
    for (expected, stack) in cases {
        let (own, task) = (operator(stack), operator(&format!("{stack} {TASK}")));
        if own.as_deref() != Some(expected) || task.as_deref() != Some(expected) {
            wrong.push(format!(
                "{stack}\n  wanted {expected}, got {own:?}, {task:?}"
            ));
        }
    }
    // who pulls the rows of an RDD owns none of its code
    for (guest, stack) in cases
        .iter()
        .filter(|(name, _)| ["RDD", "MLlib", "GraphX"].contains(name))
    {
        let written = operator(&format!("{stack} {WRITE}"));
        if written.as_deref() != Some(guest) && !stack.contains("RDD.iterator") {
            wrong.push(format!(
                "{stack} in a writer\n  wanted {guest}, got {written:?}"
            ));
        }
    }
    assert_eq!(
        operator(WRITE).as_deref(),
        Some("Exchange write"),
        "the writer itself"
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Any frames in any order: classified, and the same again; a frame that says nothing changes
/// nothing.
#[test]
fn any_stack_is_classified() {
    let text = include_str!("tests.rs");
    let frames: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || c == '"')
        .filter(|word| !word.is_empty())
        .collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % bound as u64) as usize
    };
    for _ in 0..60 {
        let depth = next(12);
        let mut stack: Vec<&str> = (0..depth).map(|_| frames[next(frames.len())]).collect();
        let first = classify(&stack.join(" "));
        assert_eq!(classify(&stack.join(" ")), first);
        stack.insert(next(depth + 1), "java.lang.Object.hashCode");
        assert_eq!(classify(&stack.join(" ")).1, first.1, "{stack:?}");
    }
}

#[test]
fn codegen_stages_are_numbered() {
    let (_, operator, stage, _) = classify(&format!(
        "{GENERATED}7.agg_doConsume_0$ x.Y.z {GENERATED}.processNext"
    ));
    assert_eq!(
        (operator.as_deref(), stage),
        (Some("HashAggregate"), Some(27))
    );
    assert_eq!(classify("a.B.c").2, None);
}

#[test]
fn sleeping_stacks_have_wait_classes() {
    let cases = [
        ("lock", "libjvm.so!ObjectMonitor::enter Burn.work"),
        (
            "timed_sleep",
            "libc.so.6!clock_nanosleep java.lang.Thread.sleep Job.run",
        ),
        (
            "idle",
            "libc.so.6!pthread_cond_wait libjvm.so!Unsafe_Park jdk.internal.misc.Unsafe.park java.util.concurrent.locks.LockSupport.park java.util.concurrent.LinkedBlockingQueue.take java.util.concurrent.ThreadPoolExecutor.getTask",
        ),
        (
            "shuffle_fetch",
            "jdk.internal.misc.Unsafe.park java.util.concurrent.locks.LockSupport.park java.util.concurrent.LinkedBlockingQueue.take org.apache.spark.storage.ShuffleBlockFetcherIterator.next",
        ),
        (
            "memory_pool",
            "java.lang.Object.wait org.apache.spark.memory.ExecutionMemoryPool.acquireMemory",
        ),
        (
            "helper",
            "java.net.SocketInputStream.socketRead0 org.apache.spark.api.python.BasePythonRunner$ReaderIterator.read",
        ),
        (
            "helper",
            "jdk.internal.misc.Unsafe.park java.util.concurrent.CompletableFuture.get org.apache.parquet.hadoop.ParquetFileReader.readVectored",
        ),
        (
            "block_io",
            "java.io.FileInputStream.readBytes org.apache.hadoop.fs.RawLocalFileSystem$LocalFSFileInputStream.read",
        ),
        ("unclassified", "a.B.c"),
    ];
    for (class, stack) in cases {
        assert_eq!(classify(stack).3, class, "{stack}");
    }
}

#[test]
fn threads_have_roles() {
    let cases = [
        (
            "task",
            "Executor task launch worker for task 3.0 in stage 5.0 (TID 12)",
        ),
        ("task", "Executor task idle worker#61"),
        ("task", "Executor task l"),
        ("gc", "GC Thread#0"),
        ("gc", "G1 Conc#0"),
        ("gc", "ZDriverMinor"),
        ("jit", "C2 CompilerThread0"),
        ("jit", "C1 CompilerThre"),
        ("vm", "VM Thread"),
        ("driver", "dag-scheduler-event-loop"),
        ("helper", "shuffle-server-4-1"),
        ("helper", "read-ahead"),
        (
            "helper",
            "Writer Monitor for /usr/bin/python3 (writer thread: 7)",
        ),
        ("helper", "stderr reader for /usr/bin/python3"),
        ("driver", "Idle Worker Monitor for /usr/bin/python3"),
        ("driver", "ResultQueryStageExecution-3"),
        ("driver", "serve-DataFrame"),
        ("pyrometer", "pyrometer-writer"),
        ("other", "burner-1"),
        ("other", ""),
    ];
    for (role, name) in cases {
        assert_eq!(Rules::embedded().roles().of(name), role, "{name}");
    }
}

#[test]
fn other_roles_keep_their_category() {
    let rules = Rules::embedded();
    let verdict = rules.classify(&[rules.facts(&Frame {
        place: "org.xerial.snappy.Snappy",
        method: "uncompress",
        kind: FrameKind::C1,
    })]);
    assert_eq!(rules.category("task", &verdict), "decompression");
    assert_eq!(rules.category("other", &verdict), "decompression");
    assert_eq!(rules.category("gc", &verdict), "gc");
    assert_eq!(rules.category("helper", &verdict), "helper");
    let own = rules.classify(&[rules.facts(&Frame {
        place: "libasyncProfiler.so",
        method: "x",
        kind: FrameKind::Cpp,
    })]);
    assert_eq!(rules.category("gc", &own), "pyrometer");
}

#[test]
fn mistakes_in_the_files_are_named() {
    let operators =
        "operator = []\n[codegen]\nclass = 'x'\nfused = 'F'\npipeline = 'p'\nprefix = []";
    let categories =
        |rule: &str| format!("category = [{{name='other', doc=''}}]\nrole = {{}}\nrule = [{rule}]");
    let waits = "version = 1\nclass = [{name='unclassified', doc=''}]\nframes = []\nrule = []";
    let parse = |rule: &str| Rules::parse("rule = []", &categories(rule), operators, waits).err();
    assert_eq!(parse(""), None);
    assert!(
        parse("{category='nope', match=['x']}")
            .unwrap()
            .contains("nope")
    );
    assert!(
        parse("{category='other', match=['(']}")
            .unwrap()
            .contains("unclosed group")
    );
    assert!(
        Rules::parse("rule = 3", &categories(""), operators, waits)
            .err()
            .unwrap()
            .contains("roles.toml")
    );
    assert!(
        Rules::parse("rule = []", "x", operators, waits)
            .err()
            .unwrap()
            .contains("categories.toml")
    );
    assert!(
        Rules::parse("rule = []", &categories(""), operators, "")
            .err()
            .unwrap()
            .contains("wait_classes.toml")
    );
}

#[test]
fn a_thread_in_a_waiting_call_was_waiting() {
    let rules = Rules::embedded();
    let blocked = |leaf_first: &[(&str, &str)]| {
        let facts: Vec<Facts> = leaf_first
            .iter()
            .map(|&(place, method)| {
                rules.facts(&Frame {
                    place,
                    method,
                    kind: FrameKind::Native,
                })
            })
            .collect();
        rules.classify(&facts).blocked
    };
    let park = ("libjvm.so", "os::PlatformEvent::park");
    let wait = ("libc.so.6", "___pthread_cond_timedwait");
    assert!(blocked(&[
        ("libc.so.6", "__futex_abstimed_wait_common"),
        wait,
        park
    ]));
    assert!(blocked(&[("libc.so.6", "__GI_epoll_wait")]));
    assert!(blocked(&[("libc.so.6", "epoll_wait")]));
    assert!(!blocked(&[("libc.so.6", "__GI_read")]));
    // Beside the call itself, on the way there or back, it runs.
    assert!(!blocked(&[wait, park]));
    assert!(!blocked(&[]));
}
