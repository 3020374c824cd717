use std::fs::File;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

mod beside;
mod damage;
mod errors;
mod repeated;
mod tables;

/// The rows of `table` as JSON objects, lists left out.
fn rows(out: &Path, table: &str) -> Vec<Value> {
    let file = File::open(out.join(format!("{table}.parquet"))).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)
        .unwrap()
        .build()
        .unwrap();
    let batches: Vec<RecordBatch> = reader.collect::<std::result::Result<_, _>>().unwrap();
    let mut rows = Vec::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let value = |column: &dyn Array| {
                use arrow_schema::DataType::*;
                match column.data_type() {
                    _ if column.is_null(row) => Value::Null,
                    Int32 => column.as_primitive::<Int32Type>().value(row).into(),
                    Int64 => column.as_primitive::<Int64Type>().value(row).into(),
                    Boolean => column.as_boolean().value(row).into(),
                    Utf8 => column.as_string::<i32>().value(row).into(),
                    Dictionary(_, _) => {
                        let column = column.as_dictionary::<Int32Type>();
                        column
                            .values()
                            .as_string::<i32>()
                            .value(column.key(row).unwrap())
                            .into()
                    }
                    _ => Value::Null,
                }
            };
            let fields = batch.schema().fields().clone();
            rows.push(Value::Object(
                fields
                    .iter()
                    .zip(batch.columns())
                    .map(|(f, c)| (f.name().clone(), value(c)))
                    .collect(),
            ));
        }
    }
    rows
}

struct Ingested {
    out: tempfile::TempDir,
    report: IngestReport,
}

impl Ingested {
    fn rows(&self, table: &str) -> Vec<Value> {
        rows(self.out.path(), table)
    }

    fn codes(&self) -> Vec<&str> {
        self.report.doubts.iter().map(|doubt| doubt.code).collect()
    }
}

fn ingest_text(text: &str) -> Ingested {
    let input = tempfile::tempdir().unwrap();
    let log = input.path().join("log");
    std::fs::write(&log, text).unwrap();
    let out = tempfile::tempdir().unwrap();
    let report = ingest(&[log], out.path(), &mut || true).unwrap();
    Ingested { out, report }
}

/// One event a line, keys in the order given by `json!` (alphabetical) or as Spark has them.
fn lines(events: &[Value]) -> String {
    events
        .iter()
        .map(|event| event.to_string() + "\n")
        .collect()
}

fn stage_info(id: i64) -> Value {
    json!({"Stage ID": id, "Stage Attempt ID": 0, "Stage Name": "count", "Number of Tasks": 2, "Parent IDs": [],
        "RDD Info": [{"RDD ID": 1, "Name": "r", "Scope": "{\"id\":\"3\",\"name\":\"Scan\"}"}],
        "Submission Time": 1000, "Completion Time": 3000})
}

fn task_end(id: i64, reason: Value, accumulables: Value) -> Value {
    json!({"Event": "SparkListenerTaskEnd", "Stage ID": 0, "Stage Attempt ID": 0, "Task End Reason": reason,
        "Task Info": {"Task ID": id, "Index": id, "Attempt": 0, "Launch Time": 1500, "Finish Time": 2500, "Executor ID": "1",
            "Host": "h", "Locality": "ANY", "Speculative": false, "Getting Result Time": 0, "Accumulables": accumulables},
        "Task Metrics": {"Executor Run Time": 7, "Executor CPU Time": 5_000_001, "Input Metrics": {"Bytes Read": 11, "Records Read": 2},
            "Shuffle Read Metrics": {"Remote Bytes Read": 1, "Local Bytes Read": 2}}})
}

fn plan_node(name: &str, accumulators: &[i64], children: Value) -> Value {
    let metrics: Vec<_> = accumulators
        .iter()
        .map(|id| json!({"name": "rows", "accumulatorId": id, "metricType": "sum"}))
        .collect();
    json!({"nodeName": name, "simpleString": format!("{name} \"s\""), "children": children, "metadata": {}, "metrics": metrics})
}

fn application() -> Vec<Value> {
    let success = json!({"Reason": "Success"});
    let update = |value: Value| {
        json!([{"ID": 5, "Name": "rows", "Update": value, "Value": "9", "Internal": true, "Count Failed Values": true, "Metadata": "sql"},
        {"ID": 9, "Name": "internal.metrics.x", "Update": 3, "Value": 9, "Internal": true, "Count Failed Values": true},
        {"ID": 6, "Name": "mine", "Update": [1, 2], "Value": [1], "Internal": false, "Count Failed Values": false}])
    };
    vec![
        json!({"Event": "SparkListenerLogStart", "Spark Version": "4.0.0"}),
        json!({"Event": "SparkListenerApplicationStart", "App Name": "a", "App ID": "app-1", "Timestamp": 500, "User": "u"}),
        json!({"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": {"spark.master": "local"}, "JVM Information": {"Scala Version": "version 2.13.1"}}),
        json!({"Event": "SparkListenerExecutorAdded", "Timestamp": 600, "Executor ID": "1", "Executor Info": {"Host": "h", "Total Cores": 2}}),
        json!({"Event": "SparkListenerStageExecutorMetrics", "Executor ID": "1", "Stage ID": 0, "Executor Metrics": {"JVMHeapMemory": 5}}),
        json!({"Event": "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart", "executionId": 3, "description": "d", "time": 700,
            "physicalPlanDescription": "p0", "sparkPlanInfo": plan_node("AdaptiveSparkPlan", &[], json!([plan_node("Scan", &[4], json!([]))]))}),
        json!({"Event": "org.apache.spark.sql.execution.ui.SparkListenerSQLAdaptiveExecutionUpdate", "executionId": 3, "physicalPlanDescription": "p\n1",
            "sparkPlanInfo": plan_node("AdaptiveSparkPlan", &[], json!([plan_node("WholeStageCodegen (7)", &[], json!([
                plan_node("Project", &[], json!([plan_node("InputAdapter", &[], json!([plan_node("Scan", &[5], json!([]))]))]))]))]))}),
        json!({"Event": "SparkListenerJobStart", "Job ID": 0, "Submission Time": 900, "Stage IDs": [0, 1], "Stage Infos": [stage_info(0), stage_info(1)],
            "Properties": {"spark.sql.execution.id": "3", "pyrometer.iteration": "2", "pyrometer.warmup": "true"}}),
        json!({"Event": "SparkListenerStageSubmitted", "Stage Info": stage_info(0), "Properties": {"spark.sql.execution.id": "3"}}),
        task_end(0, success.clone(), update(json!("10"))),
        task_end(1, success.clone(), update(json!(32))),
        task_end(2, success, update(json!("-1"))),
        task_end(
            3,
            json!({"Reason": "TaskKilled", "Kill Reason": "another attempt succeeded"}),
            update(json!("1000")),
        ),
        task_end(4, json!({"Reason": "TaskCommitDenied"}), json!([])),
        task_end(
            5,
            json!({"Reason": "ExceptionFailure", "Class Name": "E", "Description": "why"}),
            json!([]),
        ),
        json!({"Event": "SparkListenerTaskEnd", "Stage ID": 0, "Stage Attempt ID": 0, "Task End Reason": {"Reason": "Resubmitted"},
            "Task Info": {"Task ID": 0, "Index": 0, "Attempt": 0, "Speculative": false}}),
        json!({"Event": "SparkListenerTaskStart", "Stage ID": 0, "Stage Attempt ID": 0, "Task Info": {"Task ID": 6, "Index": 6, "Launch Time": 1600, "Speculative": true, "Host": "h"}}),
        json!({"Event": "org.apache.spark.sql.execution.ui.SparkListenerDriverAccumUpdates", "executionId": 3, "accumUpdates": [[5, 100]]}),
        json!({"Event": "SparkListenerStageCompleted", "Stage Info": stage_info(0)}),
        json!({"Event": "SparkListenerJobEnd", "Job ID": 0, "Completion Time": 3100, "Job Result": {"Result": "JobSucceeded"}}),
        json!({"Event": "SparkListenerJobStart", "Job ID": 1, "Submission Time": 3200, "Stage IDs": [2], "Stage Infos": [stage_info(2)]}),
        json!({"Event": "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd", "executionId": 3, "time": 3300, "errorMessage": ""}),
        json!({"Event": "com.example.Mine", "x": 1}),
        json!({"Event": "SparkListenerApplicationEnd", "Timestamp": 4000}),
    ]
}
