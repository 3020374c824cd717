//! Values of well-formed events, put in by the fuzzer: rows and events are as many as a
//! straightforward reader counts.
#![no_main]

mod scratch;

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use pyro_ingest::eventlog::try_bytes;
use serde_json::{Value, json};

/// Takes decisions from the fuzzer's bytes.
struct Choices<'a>(std::slice::Iter<'a, u8>);

impl Choices<'_> {
    fn next(&mut self) -> usize {
        self.0.next().copied().unwrap_or(0).into()
    }

    fn value(&mut self) -> Value {
        let bytes: Vec<u8> = self.0.by_ref().take(8).copied().collect();
        let number = bytes
            .iter()
            .fold(0_i64, |sum, &byte| sum << 8 | i64::from(byte));
        match self.next() % 12 {
            0 => Value::Null,
            1 => json!(number),
            2 => json!(i64::MAX),
            3 => json!(i64::MIN),
            4 => json!(u64::MAX),
            5 => json!(number as f64 * 1e300),
            6 => json!(number.to_string()),
            7 => json!(String::from_utf8_lossy(&bytes)),
            8 => json!([number, [[]]]),
            9 => json!({"a": number}),
            10 => json!(number % 4),
            _ => json!(true),
        }
    }
}

fn template(kind: usize, id: i64) -> Value {
    let stage = json!({"Stage ID": 0, "Stage Attempt ID": 0, "Stage Name": "s", "Number of Tasks": 2, "Parent IDs": [],
        "RDD Info": [{"RDD ID": 1, "Name": "r", "Scope": "{}"}], "Submission Time": 1000, "Completion Time": 3000});
    let info = json!({"Task ID": id, "Index": id, "Attempt": 0, "Partition ID": id, "Launch Time": 1500, "Executor ID": "1",
        "Host": "h", "Locality": "ANY", "Speculative": false, "Getting Result Time": 0, "Finish Time": 2500, "Accumulables":
        [{"ID": 5, "Name": "rows", "Update": "10", "Value": "10", "Internal": true, "Count Failed Values": true, "Metadata": "sql"}]});
    let metrics = json!({"Executor Deserialize Time": 1, "Executor Run Time": 7, "Executor CPU Time": 5_000_001, "Result Size": 3,
        "Input Metrics": {"Bytes Read": 11, "Records Read": 2}, "Shuffle Read Metrics": {"Remote Bytes Read": 1, "Local Bytes Read": 2},
        "Shuffle Write Metrics": {"Shuffle Bytes Written": 4}, "Output Metrics": {"Bytes Written": 9}});
    let plan = json!({"nodeName": "Scan", "simpleString": "s", "children": [], "metadata": {},
        "metrics": [{"name": "rows", "accumulatorId": 5, "metricType": "sum"}]});
    match kind % 11 {
        0 | 1 => json!({"Event": "SparkListenerTaskEnd", "Stage ID": 0, "Stage Attempt ID": 0,
            "Task End Reason": {"Reason": "Success"}, "Task Info": info, "Task Metrics": metrics}),
        2 => {
            json!({"Event": "SparkListenerTaskStart", "Stage ID": 0, "Stage Attempt ID": 0, "Task Info": info})
        }
        3 => {
            json!({"Event": "SparkListenerJobStart", "Job ID": id, "Submission Time": 900, "Stage IDs": [0],
            "Stage Infos": [stage], "Properties": {"spark.sql.execution.id": "3", "pyrometer.iteration": "2"}})
        }
        4 => {
            json!({"Event": "SparkListenerJobEnd", "Job ID": id, "Completion Time": 3100, "Job Result": {"Result": "JobSucceeded"}})
        }
        5 => {
            json!({"Event": "SparkListenerStageSubmitted", "Stage Info": stage, "Properties": {"spark.sql.execution.id": "3"}})
        }
        6 => json!({"Event": "SparkListenerStageCompleted", "Stage Info": stage}),
        7 => {
            json!({"Event": "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart", "executionId": 3, "time": 700,
            "description": "d", "physicalPlanDescription": "p", "sparkPlanInfo": plan})
        }
        8 => {
            json!({"Event": "org.apache.spark.sql.execution.ui.SparkListenerDriverAccumUpdates", "executionId": 3, "accumUpdates": [[5, 100]]})
        }
        9 => {
            json!({"Event": "SparkListenerExecutorAdded", "Timestamp": 600, "Executor ID": "1", "Executor Info": {"Host": "h", "Total Cores": 2}})
        }
        _ => {
            json!({"Event": "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd", "executionId": 3, "time": 3300})
        }
    }
}

/// The value at the end of a random way through `value`, the event's name left as it is.
fn leaf<'a>(value: &'a mut Value, choices: &mut Choices<'_>) -> &'a mut Value {
    let count = match value {
        Value::Object(map) => map.keys().filter(|key| *key != "Event").count(),
        Value::Array(list) => list.len(),
        _ => 0,
    };
    if count == 0 {
        return value;
    }
    let choice = choices.next() % count;
    match value {
        Value::Object(map) => {
            let mut inner = map.iter_mut().filter(|(key, _)| *key != "Event");
            leaf(inner.nth(choice).expect("so many are there").1, choices)
        }
        Value::Array(list) => leaf(&mut list[choice], choices),
        scalar => scalar,
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut choices = Choices(bytes.iter());
    let (mut text, mut untouched) = (String::new(), HashSet::new());
    let mut lines = 0;
    while choices.0.len() > 0 && lines < 16 {
        let (kind, id) = (choices.next(), choices.next() as i64);
        let mut event = template(kind, id);
        let changes = choices.next() % 3;
        for _ in 0..changes {
            let value = choices.value();
            *leaf(&mut event, &mut choices) = value;
        }
        if changes == 0 && kind % 11 < 2 {
            untouched.insert(id);
        }
        text += &(event.to_string() + "\n");
        lines += 1;
    }
    let out = scratch::folder();
    let Ok(report) = try_bytes(text.into_bytes(), out) else {
        return;
    };
    let count = |name: &str| report.stats[name].as_u64().expect("a count");
    assert_eq!(count("lines_count"), lines);
    assert_eq!(
        count("events_count") + count("unreadable_lines_count"),
        lines
    );
    assert!(count("events_count") >= untouched.len() as u64);
});
