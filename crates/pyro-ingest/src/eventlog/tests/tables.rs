//! What whole logs come to.

use super::*;

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
fn requests_for_executors_and_for_blocks_are_kept_where_the_log_has_them() {
    let mut events = application();
    events[3]["Executor Info"]["Request Time"] = json!(550);
    events.insert(
        4,
        json!({"Event": "SparkListenerExecutorAdded", "Timestamp": 650, "Executor ID": "2", "Executor Info": {"Host": "h", "Total Cores": 2}}),
    );
    let metrics = &mut events[10]["Task Metrics"]["Shuffle Read Metrics"];
    metrics["Remote Requests Duration"] = json!(9);
    // As Spark writes them: what is nested has a duration of its own.
    let as_written = lines(&events).replace(
        r#""Shuffle Read Metrics":{"Local Bytes Read":2,"Remote Bytes Read":1}"#,
        concat!(
            r#""Shuffle Read Metrics":{"Remote Blocks Fetched":1,"Local Blocks Fetched":0,"Fetch Wait Time":4,"#,
            r#""Remote Bytes Read":1,"Remote Bytes Read To Disk":0,"Local Bytes Read":2,"Total Records Read":3,"#,
            r#""Remote Requests Duration":5,"Push Based Shuffle":{"Merged Remote Requests Duration":8}}"#
        ),
    );
    let done = ingest_text(&as_written);
    let asked: Vec<_> = done
        .rows("executors")
        .iter()
        .map(|executor| executor["request_wall_ns"].as_i64())
        .collect();
    assert_eq!(asked, [Some(550_000_000), None]);
    let tasks = done.rows("tasks");
    let requests = |task: usize| tasks[task]["shuffle_remote_requests_duration_ns"].as_i64();
    assert_eq!(
        (requests(0), requests(1)),
        (Some(9_000_000), Some(5_000_000))
    );
    let before = ingest_text(&lines(&application())).rows("tasks");
    assert_eq!(
        before[0]["shuffle_remote_requests_duration_ns"],
        Value::Null
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
