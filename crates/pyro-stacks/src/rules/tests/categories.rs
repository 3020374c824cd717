//! What a stack was doing.

use super::*;

/// Stacks of the kinds that async-profiler records on Spark, shortened or put together by hand,
/// with what a reader of the stack would say they were doing.
#[test]
fn stacks_get_the_category_that_a_reader_would_give() {
    let cases = [
        // reflection works for its caller; generating what it calls through does not
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
        // the VM looks up for its caller what it has at hand; what it loads meanwhile is its own
        (
            "serialisation",
            "WholeStageCodegen",
            "libjvm.so!SymbolTable::do_lookup libjvm.so!SymbolTable::new_symbol libjvm.so!JVM_FindClassFromCaller libjava.so!Java_java_lang_Class_forName0 java.lang.Class.forName0 java.lang.Class.forName org.apache.spark.serializer.JavaDeserializationStream$$anon$1.resolveClass java.io.ObjectInputStream.readNonProxyDesc GENERATED.processNext",
        ),
        (
            "serialisation",
            "WholeStageCodegen",
            "libjvm.so!TypeArrayKlass::array_klass libjvm.so!SystemDictionary::resolve_array_class_or_null libjvm.so!JVM_FindClassFromCaller libjava.so!Java_java_lang_Class_forName0 java.lang.Class.forName0 java.lang.Class.forName java.io.ObjectInputStream.resolveClass GENERATED.processNext",
        ),
        (
            "serialisation",
            "WholeStageCodegen",
            "libjvm.so!StringTable::intern libjvm.so!JVM_InternString java.lang.String.intern java.io.ObjectStreamField.<init> java.io.ObjectStreamClass.readNonProxy GENERATED.processNext",
        ),
        (
            "serialisation",
            "WholeStageCodegen",
            "java.lang.reflect.Array.newInstance java.io.ObjectInputStream.readArray GENERATED.processNext",
        ),
        (
            "vm",
            "WholeStageCodegen",
            "libjvm.so!SymbolTable::do_lookup libjvm.so!ClassFileParser::parse_stream libjvm.so!SystemDictionary::load_instance_class libjvm.so!JVM_FindClassFromCaller libjava.so!Java_java_lang_Class_forName0 java.lang.Class.forName0 java.lang.Class.forName java.io.ObjectInputStream.resolveClass GENERATED.processNext",
        ),
        (
            "udf",
            "WholeStageCodegen",
            "com.acme.Tables.fill com.acme.Tables.<clinit> libjvm.so!InstanceKlass::call_class_initializer libjvm.so!JVM_FindClassFromCaller libjava.so!Java_java_lang_Class_forName0 java.lang.Class.forName0 java.lang.Class.forName java.io.ObjectInputStream.resolveClass GENERATED.processNext",
        ),
        (
            "vm",
            "WholeStageCodegen",
            "libjvm.so!SymbolTable::do_lookup libjvm.so!ConstantPool::klass_at_impl libjvm.so!InterpreterRuntime::ldc GENERATED.processNext",
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
