//! Events that are in a log more than once.

use super::*;

fn doubt<'a>(done: &'a Ingested, code: &str) -> &'a Doubt {
    let found = done.report.doubts.iter().find(|doubt| doubt.code == code);
    found.unwrap_or_else(|| panic!("{code}: {:?}", done.codes()))
}

#[test]
fn a_log_put_behind_itself_counts_once() {
    let text = lines(&application());
    let (once, twice) = (ingest_text(&text), ingest_text(&text.repeat(2)));
    for table in [
        "jobs",
        "stages",
        "tasks",
        "sql_executions",
        "plan_nodes",
        "node_metrics",
        "executors",
    ] {
        assert_eq!(once.rows(table), twice.rows(table), "{table}");
    }
    assert!(!once.codes().contains(&"eventlog_repeated_event"));
    let doubt = doubt(&twice, "eventlog_repeated_event");
    // Application, execution (start, plan, updates, end), 2 + 1 events of jobs, 2 of stages, 8 of tasks.
    assert_eq!(doubt.count, 18, "{}", doubt.message);
    assert!(
        doubt.message.contains("7 SparkListenerTaskEnd"),
        "{}",
        doubt.message
    );
}

#[test]
fn single_events_that_come_again_count_once() {
    let events = application();
    let once = ingest_text(&lines(&events));
    for (at, event) in events.iter().enumerate() {
        let name = event["Event"].as_str().unwrap();
        let name = name.rsplit('.').next().unwrap();
        if !matches!(
            name,
            "SparkListenerTaskEnd"
                | "SparkListenerTaskStart"
                | "SparkListenerJobStart"
                | "SparkListenerJobEnd"
                | "SparkListenerStageCompleted"
                | "SparkListenerSQLExecutionStart"
        ) {
            continue;
        }
        let mut again = events.clone();
        again.insert(at, event.clone());
        let done = ingest_text(&lines(&again));
        for table in ["jobs", "stages", "tasks", "sql_executions", "node_metrics"] {
            assert_eq!(once.rows(table), done.rows(table), "{name}: {table}");
        }
        let doubt = doubt(&done, "eventlog_repeated_event");
        assert_eq!(doubt.count, 1, "{}", doubt.message);
        assert!(doubt.message.contains(name), "{}", doubt.message);
    }
}

#[test]
fn a_task_that_succeeds_again_counts_once_in_metrics_of_its_plan() {
    let mut events = application();
    let once = ingest_text(&lines(&events));
    let resubmitted = |event: &Value| event["Task End Reason"]["Reason"] == "Resubmitted";
    let at = events.iter().position(resubmitted).unwrap();
    let first = |event: &&Value| event["Task Info"]["Task ID"] == 0;
    let mut again = events.iter().find(first).unwrap().clone();
    again["Task Info"]["Task ID"] = json!(7);
    events.insert(at + 1, again);
    let done = ingest_text(&lines(&events));
    assert_eq!(done.rows("tasks").len(), once.rows("tasks").len() + 1);
    assert_eq!(done.rows("node_metrics"), once.rows("node_metrics"));
}

#[test]
fn another_application_behind_the_first_loses_nothing() {
    let mut other = application();
    other[1]["App ID"] = json!("app-2");
    let done = ingest_text(&(lines(&application()) + &lines(&other)));
    assert_eq!(done.rows("tasks").len(), 15);
    assert_eq!(doubt(&done, "eventlog_several_applications").count, 1);
}

#[test]
fn metrics_that_no_task_can_count_are_left_out_with_a_doubt() {
    let mut events = application();
    for (event, value) in events
        .iter_mut()
        .filter(|event| event["Task Metrics"].is_object())
        .zip([i64::MAX, i64::MIN, 1 << 54, 1 << 53])
    {
        event["Task Metrics"]["Result Size"] = json!(value);
        event["Task Info"]["Accumulables"] = json!([{"ID": 5, "Name": "rows", "Update": value}]);
    }
    let done = ingest_text(&lines(&events));
    let sizes: Vec<_> = done
        .rows("tasks")
        .iter()
        .map(|row| row["result_size_bytes"].clone())
        .collect();
    assert_eq!(
        sizes[..4],
        [Value::Null, Value::Null, Value::Null, json!(1_i64 << 53)]
    );
    assert_eq!(doubt(&done, "eventlog_metric_too_large").count, 3);
}

#[test]
fn numbers_beyond_their_column_are_no_other_numbers() {
    let mut events = application();
    let wide = 1_i64 << 32;
    for event in &mut events {
        if event["Event"] == "SparkListenerTaskEnd" {
            event["Task Info"]["Attempt"] = json!(wide);
        }
        if event["Event"] == "SparkListenerExecutorAdded" {
            event["Executor Info"]["Total Cores"] = json!(wide + 2);
        }
    }
    let done = ingest_text(&lines(&events));
    let ended = |row: &&Value| row["status"] != "running";
    assert!(
        done.rows("tasks")
            .iter()
            .filter(ended)
            .all(|row| row["attempt"].is_null())
    );
    assert!(done.rows("executors")[0]["cores_count"].is_null());
}
