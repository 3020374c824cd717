//! Which operator a stack worked for.

use super::*;

/// Operator of a stack whose frames are written as in [`classify`], `GENERATED` for generated code.
fn operator(stack: &str) -> Option<String> {
    classify(&stack.replace("GENERATED", GENERATED)).1
}

/// The frame nearest the leaf that names an operator decides; code outside SQL gives way to an
/// operator that called it, but not to one that only asked for its rows.
#[test]
fn operators_are_distinguished() {
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
