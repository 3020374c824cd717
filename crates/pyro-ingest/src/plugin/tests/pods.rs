//! Pods of executors.

use super::*;

const DRIVER: &str = r#"{"k":"process","role":"driver","executor_id":"driver","pid":7,"host":"h1","app_id":"spark-1","mono_ns":1000,"wall_ns":9000}"#;
const BYE: &str = r#"{"k":"bye","mono_ns":4000,"written":8,"dropped":0,"own_cpu_ns":90}"#;

#[test]
fn records_of_a_pod_become_a_row() {
    let case = Case::new(lines(&[
        DRIVER,
        r#"{"k":"pod","app_id":"spark-1","executor_id":"2","name":"p-2","node":null,"image":null,"unschedulable":"0/3 nodes","waiting":null,"created_wall_ns":10,"scheduled_wall_ns":null,"prepared_wall_ns":null,"initialized_wall_ns":null,"started_wall_ns":null,"wall_ns":11}"#,
        r#"{"k":"pod","app_id":"spark-1","executor_id":"1","name":"p-1","created_wall_ns":10,"scheduled_wall_ns":12,"wall_ns":13}"#,
        r#"{"k":"pod","app_id":"spark-1","executor_id":"2","name":"p-2","node":"n1","image":"spark:4","unschedulable":"other","waiting":"ErrImagePull","created_wall_ns":10,"scheduled_wall_ns":20,"prepared_wall_ns":21,"initialized_wall_ns":21,"started_wall_ns":30,"wall_ns":31}"#,
        r#"{"k":"pod","app_id":"spark-1","executor_id":"2","name":"p-2","started_wall_ns":40,"wall_ns":41}"#,
        BYE,
    ]));
    let report = case.ingest();
    assert_eq!(report.doubts, []);
    assert_eq!(report.tables["executor_pods"], 2);
    let pods = case.table("executor_pods");
    let times = |name: &str| {
        pods[name]
            .as_primitive::<Int64Type>()
            .iter()
            .collect::<Vec<_>>()
    };
    assert_eq!(times("created_wall_ns"), [Some(10), Some(10)]);
    assert_eq!(times("scheduled_wall_ns"), [Some(12), Some(20)]);
    assert_eq!(times("prepared_wall_ns"), [None, Some(21)]);
    assert_eq!(times("started_wall_ns"), [None, Some(30)]);
    assert_eq!(times("seen_wall_ns"), [None, Some(31)]);
    let said = |name: &str| pods[name].as_string::<i32>().value(1).to_owned();
    assert_eq!(
        (said("pod"), said("unschedulable")),
        ("p-2".into(), "0/3 nodes".into())
    );
    assert_eq!(said("waiting"), "ErrImagePull");
}

#[test]
fn a_run_without_pods_has_no_such_table() {
    let case = Case::new(lines(&[DRIVER, BYE]));
    assert!(!case.ingest().tables.contains_key("executor_pods"));
    assert!(!case.folder.path().join("executor_pods.parquet").exists());
}

#[test]
fn a_pod_that_says_nothing_of_its_executor_is_unreadable() {
    let case = Case::new(lines(&[
        DRIVER,
        r#"{"k":"pod","app_id":"spark-1","created_wall_ns":10,"wall_ns":11}"#,
        r#"{"k":"pod","app_id":"spark-1","executor_id":"1","created_wall_ns":"10"}"#,
        BYE,
    ]));
    let report = case.ingest();
    assert_eq!(codes(&report), ["plugin_line_unreadable"]);
    assert_eq!(report.doubts[0].count, 2);
}
