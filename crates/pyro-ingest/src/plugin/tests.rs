mod pods;

use std::fs;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use pyro_model::{Doubt, Severity};
use serde_json::Value;

use super::*;

const PROCESS: &str = r#"{"k":"process","role":"executor","executor_id":"3","pid":77,"host":"h1","app_id":null,"app_name":null,"mono_ns":1000,"wall_ns":9000,"java_version":"17","jvm":"OpenJDK 17","gc_names":["G1"],"master":null}"#;
const NAMED: &str = r#"{"k":"process","role":"executor","executor_id":"3","pid":77,"host":"h1","app_id":"app-1","app_name":"x","mono_ns":1500,"wall_ns":9500,"java_version":"17","jvm":"OpenJDK 17","gc_names":["G1"],"master":"local"}"#;

fn start(task: i64, tid: i64, at: i64) -> String {
    format!(
        r#"{{"k":"task_start","tid":{tid},"start_ns":{at},"stage":4,"stage_attempt":1,"task":{task},"partition":2,"attempt":0,"sql":6,"iteration":-1}}"#
    )
}

fn end(task: i64, tid: i64, at: i64, until: i64, ok: bool) -> String {
    let begin = start(task, tid, at).replace("task_start", "task");
    let begin = begin.strip_suffix('}').expect("an object");
    format!(r#"{begin},"end_ns":{until},"ok":{ok},"cpu_ns":50,"alloc_bytes":null}}"#)
}

struct Case {
    folder: tempfile::TempDir,
    path: String,
}

impl Case {
    fn new(content: impl AsRef<[u8]>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plugin-executor-3-77.ndjson");
        fs::write(&path, content).unwrap();
        let path = path.to_str().unwrap().to_owned();
        Self { folder, path }
    }

    fn ingest(&self) -> IngestReport {
        let out = self.folder.path().to_str().unwrap();
        ingest_plugin(std::slice::from_ref(&self.path), out).unwrap()
    }

    fn table(&self, name: &str) -> arrow_array::RecordBatch {
        let file = fs::File::open(self.folder.path().join(format!("{name}.parquet"))).unwrap();
        let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file);
        let batches: Vec<_> = reader
            .unwrap()
            .build()
            .unwrap()
            .map(std::result::Result::unwrap)
            .collect();
        assert_eq!(batches.len(), 1, "{name} has rows");
        batches.into_iter().next().unwrap()
    }

    fn spans(&self) -> Vec<TaskSpan> {
        let out = self.folder.path().to_str().unwrap();
        read_spans(std::slice::from_ref(&self.path), out).unwrap()
    }
}

fn lines(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn codes(report: &IngestReport) -> Vec<&'static str> {
    report.doubts.iter().map(|doubt| doubt.code).collect()
}

#[test]
fn a_closed_file_becomes_four_tables_without_doubts() {
    let case = Case::new(lines(&[
        PROCESS,
        NAMED,
        r#"{"k":"profiler","started":true,"options":"start","version":"4.6","file":"f","error":null}"#,
        r#"{"k":"clock","mono_ns":1600,"wall_ns":9600}"#,
        &start(10, 501, 2000),
        r#"{"k":"mx","mono_ns":2100,"values":{"heap_used_bytes":5,"pyrometer_cpu_ns":70}}"#,
        &end(10, 501, 2000, 3000, true),
        &start(11, 501, 3100),
        &end(11, 501, 3100, 3200, false),
        r#"{"k":"bye","mono_ns":4000,"written":8,"dropped":0,"own_cpu_ns":90}"#,
    ]));
    let report = case.ingest();
    assert_eq!(report.doubts, []);
    let rows: Vec<_> = report.tables.into_iter().collect();
    assert_eq!(
        rows,
        [
            ("clock_pairs", 1),
            ("jvm_series", 2),
            ("processes", 1),
            ("spans", 2)
        ]
    );
    assert_eq!(report.stats["own_cpu_ns"], 90);

    let processes = case.table("processes");
    let long = |name: &str| processes[name].as_primitive::<Int64Type>().clone();
    assert_eq!(processes["app_id"].as_string::<i32>().value(0), "app-1");
    assert_eq!(
        (long("start_mono_ns").value(0), long("end_mono_ns").value(0)),
        (1000, 4000)
    );
    let facts: Value =
        serde_json::from_str(processes["facts"].as_string::<i32>().value(0)).unwrap();
    assert_eq!(
        (&facts["app_name"], &facts["own_cpu_ns"], &facts["written"]),
        (&"x".into(), &90.into(), &8.into())
    );
    assert_eq!(facts["profiler"]["version"], "4.6");

    let spans = case.table("spans");
    let long = |name: &str| spans[name].as_primitive::<Int64Type>().values().to_vec();
    assert_eq!(long("end_mono_ns"), [3000, 3200]);
    assert_eq!((long("tid"), long("sql_id")), (vec![501, 501], vec![6, 6]));
    assert_eq!(
        spans["iteration"].as_primitive::<Int32Type>().values(),
        &[-1, -1]
    );
    assert!(spans["allocated_bytes"].is_null(0) && spans["job_id"].is_null(0));
    let status = spans["status"]
        .as_dictionary::<Int32Type>()
        .downcast_dict::<arrow_array::StringArray>()
        .unwrap();
    assert_eq!(
        status.into_iter().flatten().collect::<Vec<_>>(),
        ["success", "failed"]
    );
}

#[test]
fn a_killed_jvm_leaves_running_tasks_and_a_doubt() {
    let whole = lines(&[
        PROCESS,
        &start(10, 501, 2000),
        &start(11, 502, 2100),
        &end(10, 501, 2000, 3000, true),
    ]);
    let case = Case::new(format!("{whole}{}", &end(11, 502, 2100, 3100, true)[..40]));
    let report = case.ingest();
    let cut = Doubt::new(
        "plugin_truncated",
        Severity::Warning,
        "The file ends in the middle of a line: the JVM was killed while it wrote.",
    );
    assert_eq!(
        report.doubts,
        [cut.in_file(&case.path)
            .at_line(5)
            .at_byte(whole.len() as u64)]
    );
    let ends: Vec<_> = case
        .spans()
        .iter()
        .map(|span| (span.task_attempt_id, span.end_mono_ns))
        .collect();
    assert_eq!(ends, [(10, Some(3000)), (11, None)]);
    assert!(case.table("processes")["end_mono_ns"].is_null(0));
}

#[test]
fn a_jvm_that_did_not_say_bye_is_doubted() {
    let case = Case::new(lines(&[
        PROCESS,
        r#"{"k":"mx","mono_ns":1,"values":{"pyrometer_cpu_ns":41}}"#,
    ]));
    let report = case.ingest();
    assert_eq!(codes(&report), ["plugin_truncated"]);
    assert_eq!(report.stats["own_cpu_ns"], 41);
}

#[test]
fn what_cannot_be_read_is_counted_with_its_place() {
    let case = Case::new(lines(&[
        PROCESS,
        "{\"k\":\"task\",",
        "",
        r#"{"k":"task_start","tid":"x"}"#,
        r#"{"k":"clock","mono_ns":1}"#,
        r#"{"k":"new"}"#,
        r#"{"k":"ping","sent_mono_ns":1,"driver_mono_ns":-5,"received_mono_ns":2}"#,
        r#"{"k":"ping","sent_mono_ns":1,"driver_mono_ns":-5}"#,
        r#"{"k":"bye","mono_ns":4000,"written":8,"dropped":0,"own_cpu_ns":90}"#,
    ]));
    let report = case.ingest();
    assert_eq!(
        codes(&report),
        ["plugin_line_unreadable", "plugin_record_unknown"]
    );
    let first = PROCESS.len() as u64 + 1;
    assert_eq!(
        (
            report.doubts[0].count,
            report.doubts[0].line,
            report.doubts[0].byte_offset
        ),
        (4, Some(2), Some(first))
    );
    assert_eq!(
        (report.doubts[1].count, report.doubts[1].line),
        (1, Some(6))
    );
}

#[test]
fn drops_and_errors_of_the_plugin_become_doubts() {
    let case = Case::new(lines(&[
        PROCESS,
        r#"{"k":"drop","kind":"task","count":3}"#,
        r#"{"k":"error","where":"write","message":"No space left on device","count":1}"#,
        r#"{"k":"drop","kind":"task","count":7}"#,
        r#"{"k":"error","where":"write","message":"seen again","count":9}"#,
        r#"{"k":"bye","mono_ns":4000,"written":8,"dropped":7,"own_cpu_ns":90}"#,
    ]));
    let report = case.ingest();
    assert_eq!(codes(&report), ["plugin_records_dropped", "plugin_error"]);
    assert_eq!(
        (report.doubts[0].count, report.stats["dropped"].as_u64()),
        (7, Some(7))
    );
    assert_eq!(
        (report.doubts[1].message.as_str(), report.doubts[1].count),
        ("write: No space left on device", 9)
    );
}

#[test]
fn a_second_application_in_a_jvm_is_a_row_of_its_own() {
    let bye = r#"{"k":"bye","mono_ns":4000,"written":8,"dropped":0,"own_cpu_ns":90}"#;
    let later = |line: &str, id: &str| {
        line.replace("1000", "5000")
            .replace("1500", "5500")
            .replace("app-1", id)
    };
    let case = Case::new(lines(&[
        PROCESS,
        NAMED,
        &start(0, 501, 2000),
        bye,
        &later(PROCESS, ""),
        &later(NAMED, "app-2"),
        &start(0, 501, 6000),
        &end(0, 501, 6000, 6100, true),
        &bye.replace("4000", "7000"),
    ]));
    let report = case.ingest();
    assert_eq!((report.tables["processes"], report.tables["spans"]), (2, 2));
    let processes = case.table("processes");
    let long = |name: &str| {
        processes[name]
            .as_primitive::<Int64Type>()
            .values()
            .to_vec()
    };
    assert_eq!(
        (long("start_mono_ns"), long("end_mono_ns")),
        (vec![1000, 5000], vec![4000, 7000])
    );
    let ids: Vec<_> = processes["app_id"]
        .as_string::<i32>()
        .iter()
        .flatten()
        .collect();
    assert_eq!(ids, ["app-1", "app-2"]);
}

#[test]
fn a_recording_that_ended_early_says_when() {
    let full = r#"{"k":"error","where":"kept_full","message":"256 MiB: what is dropped is counted","count":1,"mono_ns":3000}"#;
    let until = |full: &str| {
        let later = |line: &str, id: &str| line.replace("1000", "5000").replace("app-1", id);
        let case = Case::new(lines(&[
            PROCESS,
            NAMED,
            r#"{"k":"clock","mono_ns":2900,"wall_ns":7}"#,
            full,
            r#"{"k":"drop","kind":"task","count":3}"#,
            r#"{"k":"drop","kind":"mx","count":4}"#,
            r#"{"k":"bye","mono_ns":4000,"written":8,"dropped":7,"own_cpu_ns":90}"#,
            &later(PROCESS, ""),
            &later(NAMED, "app-2"),
            r#"{"k":"bye","mono_ns":7000,"written":9,"dropped":7,"own_cpu_ns":90}"#,
        ]));
        let report = case.ingest();
        let said: Vec<_> = report
            .doubts
            .iter()
            .map(|doubt| (doubt.code, doubt.message.clone()))
            .collect();
        let processes = case.table("processes");
        let column = processes["recorded_until_mono_ns"].as_primitive::<Int64Type>();
        (column.iter().collect::<Vec<_>>(), said)
    };
    let message = "256 MiB: what is dropped is counted (7 records)".to_owned();
    assert_eq!(
        until(full),
        (vec![Some(3000); 2], vec![("plugin_kept_full", message)])
    );
    let without_time = full.replace(r#","mono_ns":3000"#, "");
    assert_eq!(until(&without_time).0, [Some(2900); 2]);
    let other = full.replace("kept_full", "kept_full_before");
    let (never, said) = until(&other);
    assert_eq!((never, said.len()), (vec![None; 2], 3));
}

#[test]
fn without_a_process_record_the_name_of_the_file_tells() {
    let case = Case::new(lines(&[
        &end(10, 501, 2000, 3000, true),
        r#"{"k":"bye","mono_ns":1}"#,
    ]));
    assert_eq!(codes(&case.ingest()), ["plugin_process_unknown"]);
    let span = &case.spans()[0];
    assert_eq!(
        (span.pid, span.executor_id.as_deref(), span.host.as_str()),
        (77, Some("3"), "")
    );
}

#[test]
fn a_line_without_end_does_not_fill_the_memory() {
    let mut content = vec![b'x'; 3 << 20];
    content.extend_from_slice(lines(&["", PROCESS, &end(10, 501, 2000, 3000, true)]).as_bytes());
    let case = Case::new(content);
    assert_eq!(
        codes(&case.ingest()),
        ["plugin_line_unreadable", "plugin_truncated"]
    );
    assert_eq!(case.spans().len(), 1);
}

#[test]
fn clocks_are_read_with_their_process() {
    let case = Case::new(lines(&[
        PROCESS,
        r#"{"k":"clock","mono_ns":1600,"wall_ns":9600}"#,
    ]));
    assert_eq!(
        read_clocks(std::slice::from_ref(&case.path)).unwrap(),
        [("h1".to_owned(), 77, 1600, 9600)]
    );
}

#[test]
fn a_missing_file_is_an_error_that_names_it() {
    let error = read_spans(
        &["/nowhere/plugin-driver-driver-1.ndjson".to_owned()],
        "/nowhere",
    )
    .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("/nowhere/plugin-driver-driver-1.ndjson")
    );
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    /// Whatever happens to the bytes: no panic, and whole lines that were not touched are read.
    #[test]
    fn damaged_files_are_read(
        edits in proptest::collection::vec((0usize..1200, proptest::num::u8::ANY, 0u8..3), 0..12),
    ) {
        let mut content = lines(&[
            PROCESS,
            &start(10, 501, 2000),
            r#"{"k":"mx","mono_ns":2100,"values":{"heap_used_bytes":5}}"#,
            r#"{"k":"error","where":"write","message":"No space","count":1}"#,
            &end(10, 501, 2000, 3000, true),
        ]).into_bytes();
        for (at, byte, kind) in edits {
            let at = at % content.len();
            match kind {
                0 => content[at] = byte,
                1 => content.insert(at, byte),
                _ => { content.remove(at); }
            }
        }
        content.extend_from_slice(lines(&["", &end(99, 7, 1, 2, true)]).as_bytes());
        let case = Case::new(content);
        let report = case.ingest();
        proptest::prop_assert!(report.tables["spans"] >= 1);
        proptest::prop_assert!(case.spans().iter().any(|span| span.task_attempt_id == 99));
    }
}

/// A log in which job `job` of application `app` runs attempt 1 of stage 4.
fn eventlog(folder: &std::path::Path, app: &str, job: i64) -> std::path::PathBuf {
    let path = folder.join(format!("{app}.log"));
    let info = r#"{"Stage ID":4,"Stage Attempt ID":1,"Stage Name":"s","Number of Tasks":1,"RDD Info":[],"Parent IDs":[]}"#;
    let log = [
        r#"{"Event":"SparkListenerLogStart","Spark Version":"4.0.0"}"#.to_owned(),
        format!(
            r#"{{"Event":"SparkListenerApplicationStart","App Name":"a","App ID":"{app}","Timestamp":1,"User":"u"}}"#
        ),
        format!(
            r#"{{"Event":"SparkListenerJobStart","Job ID":{job},"Submission Time":1,"Stage Infos":[],"Stage IDs":[4],"Properties":{{}}}}"#
        ),
        format!(
            r#"{{"Event":"SparkListenerStageSubmitted","Stage Info":{info},"Properties":{{}}}}"#
        ),
        format!(r#"{{"Event":"SparkListenerStageCompleted","Stage Info":{info}}}"#),
    ];
    fs::write(&path, log.join("\n") + "\n").unwrap();
    path
}

#[test]
fn the_job_is_that_of_the_stage_in_the_event_log_of_the_same_application() {
    let jobs = |records: &[&str], apps: &[(&str, i64)]| {
        let case = Case::new(lines(records));
        let folder = case.folder.path();
        let logs: Vec<_> = apps
            .iter()
            .map(|(app, job)| eventlog(folder, app, *job))
            .collect();
        crate::eventlog::ingest(&logs, folder, &mut || true).unwrap();
        case.ingest();
        let table = case.table("spans");
        let written = table["job_id"]
            .as_primitive::<Int64Type>()
            .iter()
            .collect::<Vec<_>>();
        let spans = case.spans();
        assert_eq!(
            spans.iter().map(|span| span.job_id).collect::<Vec<_>>(),
            written
        );
        written
    };
    let (task, two) = (end(8, 501, 2000, 3000, true), [("app-0", 3), ("app-1", 9)]);
    assert_eq!(jobs(&[PROCESS, NAMED, &task], &two), [Some(9)]);
    assert_eq!(jobs(&[PROCESS, &task, NAMED], &two), [None]);
    assert_eq!(jobs(&[PROCESS, &task, NAMED], &two[..1]), [Some(3)]);
    let other = task.replace("\"stage_attempt\":1", "\"stage_attempt\":0");
    assert_eq!(jobs(&[PROCESS, NAMED, &other], &two), [None]);
}
