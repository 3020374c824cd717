//! Lines that cannot be read, files that are no logs, and logs that never end.

use super::*;

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
fn a_file_that_cannot_be_read_stops_no_other() {
    let input = tempfile::tempdir().unwrap();
    let path = |name: &str| input.path().join(name);
    std::fs::write(path("events_1_app"), lines(&application())).unwrap();
    std::fs::write(path("events_2_app"), "BZh91AY").unwrap();
    std::fs::write(path("notes"), "hello\n").unwrap();
    let parts = ["events_1_app", "events_2_app", "events_3_app"];
    let logs = [&["gone"][..], &["notes"], &parts].map(|names| Log {
        parts: names.iter().map(|name| path(name)).collect(),
    });
    let out = tempfile::tempdir().unwrap();
    let report = ingest_found(&logs, vec![], false, out.path(), &mut || true).unwrap();
    let refused = |doubt: &&Doubt| doubt.code == "eventlog_refused";
    let told = report.doubts.iter().filter(refused);
    let files: Vec<_> = told.filter_map(|doubt| doubt.file.as_deref()).collect();
    let whole = ["gone", "notes", "events_2_app", "events_3_app"];
    assert_eq!(files, whole.map(|name| path(name).display().to_string()));
    assert_eq!((report.tables["apps"], report.tables["tasks"]), (1, 8));
    let none = ingest_found(&logs[..2], vec![], false, out.path(), &mut || true);
    assert!(matches!(none, Err(Error::Io { path, .. }) if path.ends_with("gone")));
}

#[test]
fn a_first_file_that_cannot_be_read_hides_none_of_the_others() {
    let input = tempfile::tempdir().unwrap();
    let path = |name: &str| input.path().join(name);
    std::fs::write(path("events_1_app"), "BZh91AY").unwrap();
    std::fs::write(path("events_2_app"), lines(&application())).unwrap();
    let folder = [input.path().to_owned()];
    let out = tempfile::tempdir().unwrap();
    let report = ingest(&folder, out.path(), &mut || true).unwrap();
    let refused = |doubt: &&Doubt| doubt.code == "eventlog_refused";
    let told = report.doubts.iter().find(refused);
    let told = told.and_then(|doubt| doubt.file.clone());
    assert_eq!(told, Some(path("events_1_app").display().to_string()));
    assert_eq!((report.tables["apps"], report.tables["tasks"]), (1, 8));
    std::fs::write(path("events_2_app"), "hello\n").unwrap();
    let out = tempfile::tempdir().unwrap();
    let none = ingest(&folder, out.path(), &mut || true);
    assert!(matches!(none, Err(Error::Input(text)) if text.contains("events_1_app")));
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
