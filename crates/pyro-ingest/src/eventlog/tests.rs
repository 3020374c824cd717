use std::fs::File;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

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

#[test]
fn every_way_a_task_can_end_is_kept_apart() {
    let done = ingest_text(&lines(&application()));
    let tasks = done.rows("tasks");
    let statuses: Vec<_> = tasks
        .iter()
        .map(|task| {
            (
                task["task_attempt_id"].as_i64().unwrap(),
                task["status"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        statuses,
        [
            (0, "success"),
            (1, "success"),
            (2, "success"),
            (3, "killed"),
            (4, "killed"),
            (5, "failed"),
            (0, "failed"),
            (6, "running")
        ]
    );
    assert_eq!(tasks[3]["error"], "another attempt succeeded");
    assert_eq!(tasks[5]["error"], "why");
    assert_eq!(
        (&tasks[6]["has_metrics"], &tasks[6]["executor_run_time_ns"]),
        (&json!(false), &Value::Null)
    );
    assert_eq!(
        (&tasks[7]["speculative"], &tasks[7]["launch_wall_ns"]),
        (&json!(true), &json!(1_600_000_000_i64))
    );
    let first = &tasks[0];
    assert_eq!(first["executor_run_time_ns"], 7_000_000);
    assert_eq!(first["executor_cpu_time_ns"], 5_000_001);
    assert_eq!(first["input_bytes"], 11);
    assert_eq!(first["getting_result_wall_ns"], Value::Null);
    // A group that is absent was zero; a field that is absent is not known.
    assert_eq!(
        (&first["output_bytes"], &first["jvm_gc_time_ns"]),
        (&json!(0), &Value::Null)
    );
    assert_eq!(
        (
            &first["shuffle_read_local_bytes"],
            &first["shuffle_read_records_count"]
        ),
        (&json!(2), &Value::Null)
    );
}

#[test]
fn jobs_stages_and_iterations_are_joined() {
    let done = ingest_text(&lines(&application()));
    let jobs = done.rows("jobs");
    assert_eq!(jobs[0]["iteration"], 2);
    assert_eq!(jobs[0]["warmup"], true);
    assert_eq!(
        (&jobs[0]["status"], &jobs[1]["status"]),
        (&json!("succeeded"), &json!("running"))
    );
    let stages = done.rows("stages");
    let status: Vec<_> = stages
        .iter()
        .map(|s| {
            (
                s["stage_id"].as_i64().unwrap(),
                s["status"].as_str().unwrap(),
                s["job_id"].as_i64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        status,
        [(0, "succeeded", 0), (1, "skipped", 0), (2, "pending", 1)]
    );
    assert_eq!(stages[0]["sql_id"], 3);
    assert_eq!(stages[0]["iteration"], 2);
    assert_eq!(stages[1]["submit_wall_ns"], Value::Null);
    assert_eq!(
        stages[0]["rdd_names"],
        r#"[{"id":1,"name":"r","scope":{"id":"3","name":"Scan"}}]"#
    );
    let executors = done.rows("executors");
    assert_eq!(executors[0]["peak_metrics"], r#"{"JVMHeapMemory":5}"#);
    let app = &done.rows("apps")[0];
    assert_eq!(
        (&app["master"], &app["scala_version"], &app["spark_version"]),
        (&json!("local"), &json!("2.13.1"), &json!("4.0.0"))
    );
    assert_eq!(
        (&app["first_event_wall_ns"], &app["last_event_wall_ns"]),
        (&json!(500_000_000), &json!(4_000_000_000_i64))
    );
}

#[test]
fn every_plan_version_is_kept_and_metrics_stand_at_the_last() {
    let done = ingest_text(&lines(&application()));
    let nodes = done.rows("plan_nodes");
    let shape: Vec<_> = nodes
        .iter()
        .map(|n| {
            let number = |key: &str| n[key].as_i64();
            (
                number("plan_version").unwrap(),
                n["is_final"] == true,
                number("node_id").unwrap(),
                number("parent_node_id"),
                n["name"].as_str().unwrap(),
                number("codegen_stage_id"),
            )
        })
        .collect();
    assert_eq!(
        shape,
        [
            (0, false, 0, None, "AdaptiveSparkPlan", None),
            (0, false, 1, Some(0), "Scan", None),
            (1, true, 0, None, "AdaptiveSparkPlan", None),
            (1, true, 1, Some(0), "WholeStageCodegen (7)", Some(7)),
            (1, true, 2, Some(1), "Project", Some(7)),
            (1, true, 3, Some(2), "InputAdapter", None),
            (1, true, 4, Some(3), "Scan", None),
        ]
    );
    assert_eq!(nodes[6]["simple_string"], "Scan \"s\"");
    let metrics = done.rows("node_metrics");
    assert_eq!(metrics.len(), 2);
    // The driver's update, then that of two of the three successful tasks; -1 is "never set".
    assert_eq!(
        (&metrics[0]["stage_id"], &metrics[0]["value_sum"]),
        (&Value::Null, &json!(100))
    );
    let of_stage = &metrics[1];
    assert_eq!(
        (
            &of_stage["node_id"],
            &of_stage["plan_version"],
            &of_stage["stage_id"]
        ),
        (&json!(4), &json!(1), &json!(0))
    );
    assert_eq!(
        (
            &of_stage["value_sum"],
            &of_stage["value_min"],
            &of_stage["value_max"]
        ),
        (&json!(42), &json!(10), &json!(32))
    );
    assert_eq!(
        (&of_stage["updates_count"], &of_stage["max_task_attempt_id"]),
        (&json!(2), &json!(1))
    );
    let sql = &done.rows("sql_executions")[0];
    assert_eq!(
        (
            &sql["plan_versions_count"],
            &sql["physical_plan"],
            &sql["error"]
        ),
        (&json!(2), &json!("p\n1"), &Value::Null)
    );
}

#[test]
fn the_order_of_keys_and_white_space_do_not_matter() {
    // serde_json sorts keys; Spark does not: put the event and the stage first and last.
    let usual = ingest_text(&lines(&application()));
    let spaced: String = application()
        .iter()
        .map(|event| {
            serde_json::to_string_pretty(event)
                .unwrap()
                .replace('\n', " ")
                + " \r\n"
        })
        .collect();
    let spaced = ingest_text(&spaced);
    let reversed: String = application()
        .iter()
        .map(|event| {
            let mut pairs: Vec<_> = event
                .as_object()
                .unwrap()
                .iter()
                .map(|(key, value)| format!("{}:{value}", json!(key)))
                .collect();
            pairs.sort_by_key(|pair| !pair.starts_with("\"Event\""));
            format!("{{{}}}\n", pairs.join(","))
        })
        .collect();
    let reversed = ingest_text(&reversed);
    for table in [
        "jobs",
        "stages",
        "tasks",
        "sql_executions",
        "plan_nodes",
        "node_metrics",
        "executors",
    ] {
        assert_eq!(usual.rows(table), spaced.rows(table), "{table}");
        assert_eq!(usual.rows(table), reversed.rows(table), "{table}");
    }
}

#[test]
fn what_cannot_be_read_is_counted_with_its_place() {
    let mut text = lines(&application());
    let cut = text.find("{\"Event\":\"SparkListenerJobStart\"").unwrap();
    text.insert_str(
        cut,
        "garbage\n\n{\"Event\":\"SparkListenerTaskEnd\",\"Stage ID\":[1}\n",
    );
    text.push_str("{\"Event\":\"SparkLis");
    let done = ingest_text(&text);
    assert_eq!(
        done.codes(),
        [
            "eventlog_truncated",
            "eventlog_line_unreadable",
            "eventlog_unknown_event"
        ]
    );
    let broken = &done.report.doubts[1];
    assert_eq!((broken.count, broken.byte_offset), (2, Some(cut as u64)));
    assert!(
        broken.message.contains(&cut.to_string()),
        "{}",
        broken.message
    );
    assert_eq!(done.report.stats["unreadable_lines_count"], 3);
    assert_eq!(done.report.stats["blank_lines_count"], 1);
    assert_eq!(done.rows("tasks").len(), 8);
}

#[test]
fn what_is_no_event_log_is_refused_and_leaves_nothing() {
    let input = tempfile::tempdir().unwrap();
    for (name, content, word) in [
        ("csv", &b"a,b\n1,2\n"[..], "line 1, byte 0"),
        ("json", b"{\"a\": 1}\n", "field \"Event\""),
        ("bz2", b"BZh91AY", "byte 0"),
        (
            "zstd",
            &zstd::encode_all(&b"hello\nworld\n"[..], 1).unwrap(),
            "Zstd",
        ),
        ("binary", &[0, 1, 2, 255], "no line holds"),
    ] {
        let path = input.path().join(name);
        std::fs::write(&path, content).unwrap();
        let out = tempfile::tempdir().unwrap();
        let error = ingest(&[path], out.path(), &mut || true).unwrap_err();
        assert!(
            matches!(&error, Error::Input(text) if text.contains(name) && text.contains(word)),
            "{name}: {error}"
        );
        assert_eq!(std::fs::read_dir(out.path()).unwrap().count(), 0, "{name}");
    }
    let empty = ingest_text("");
    assert_eq!(empty.codes(), ["eventlog_empty"]);
    assert_eq!(empty.report.tables["apps"], 1);
}

#[test]
fn asking_to_stop_stops() {
    let input = tempfile::tempdir().unwrap();
    let log = input.path().join("log");
    std::fs::write(&log, lines(&application()).repeat(2000)).unwrap();
    let out = tempfile::tempdir().unwrap();
    assert!(matches!(
        ingest(&[log], out.path(), &mut || false),
        Err(Error::Interrupted)
    ));
    assert_eq!(std::fs::read_dir(out.path()).unwrap().count(), 0);
}

#[test]
fn memory_of_ended_executions_and_stages_is_given_back() {
    let out = tempfile::tempdir().unwrap();
    let mut app = App::new(0);
    let mut tables = Tables::create(out.path()).unwrap();
    for id in 0..6000 {
        for mut event in application() {
            for key in ["executionId", "Job ID"] {
                if let Some(value) = event.get_mut(key) {
                    *value = json!(id);
                }
            }
            if event["Event"] == "SparkListenerJobStart" {
                event["Stage IDs"] = json!([id]);
                event["Stage Infos"] = json!([stage_info(id)]);
            }
            let line = json::padded(event.to_string().as_bytes());
            assert!(event_of(&mut app, &mut tables, &line).is_ok());
        }
        if id == 5000 {
            // Two job starts a round, one of them without an end: what is open is what is kept.
            assert!(app.sql.open_count() <= 20, "{}", app.sql.open_count());
        }
    }
    assert!(app.stages.known_count() <= 2 * 4096 + 6000);
}

#[test]
fn executions_whose_end_was_lost_do_not_pile_up() {
    let events = (0..3000).flat_map(|id| {
        [
            json!({"Event": "x.SparkListenerSQLExecutionStart", "executionId": id, "sparkPlanInfo": plan_node("Scan", &[id], json!([]))}),
            json!({"Event": "SparkListenerDriverAccumUpdates", "executionId": id, "accumUpdates": [[id, 1]]}),
        ]
    });
    let out = tempfile::tempdir().unwrap();
    let mut app = App::new(0);
    let mut tables = Tables::create(out.path()).unwrap();
    for event in events {
        let line = json::padded(event.to_string().as_bytes());
        assert!(event_of(&mut app, &mut tables, &line).is_ok());
        assert!(app.sql.open_count() < 300);
    }
    events::finish(&mut app, &[], 0, &mut tables).unwrap();
    let rows = tables.finish().unwrap();
    assert_eq!(
        (
            rows["sql_executions"],
            rows["plan_nodes"],
            rows["node_metrics"]
        ),
        (3000, 3000, 3000)
    );
}

fn event_of(app: &mut App, tables: &mut Tables, line: &[u8]) -> std::result::Result<(), ()> {
    event::event(app, tables, line, line.len() - json::PAD)
        .map(|_| ())
        .map_err(|_| ())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damage_is_survived_and_every_line_accounted_for(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 0..12),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut text = lines(&application()).into_bytes();
        for (place, byte, kind) in edits {
            let at = place.index(text.len());
            match kind {
                0 => text[at] = byte,
                1 => text.insert(at, byte),
                2 => drop(text.remove(at)),
                _ => text[at] = b"\"\\{}[],:\n"[usize::from(byte) % 9],
            }
        }
        text.truncate(text.len() - cut.index(text.len()) / 4);
        let count = text.split(|&byte| byte == b'\n').count() - usize::from(text.ends_with(b"\n"));
        let out = tempfile::tempdir().unwrap();
        match try_bytes(text, out.path()) {
            Ok(report) => {
                let stat = |name: &str| report.stats[name].as_u64().unwrap();
                prop_assert_eq!(stat("lines_count"), count as u64);
                prop_assert_eq!(stat("events_count") + stat("unreadable_lines_count") + stat("blank_lines_count"), count as u64);
                let doubted: u64 = report.doubts.iter().filter(|d| d.code != "eventlog_unknown_event").map(|d| d.count).sum();
                prop_assert_eq!(doubted, stat("unreadable_lines_count"));
            }
            Err(error) => prop_assert!(matches!(error, Error::Input(_)), "{}", error),
        }
    }
}
