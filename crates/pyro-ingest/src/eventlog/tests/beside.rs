//! A log that is decompressed beside gives the same tables.

use super::*;

/// The tables of a log, byte by byte, and the report or why there is none.
fn ingested(path: &Path, beside: bool) -> (String, Vec<Vec<u8>>) {
    let out = tempfile::tempdir().unwrap();
    let (logs, doubts) = source::find(&[path.to_owned()]).unwrap();
    let report = ingest_found(&logs, doubts, beside, out.path(), &mut || true);
    let mut tables: Vec<_> = std::fs::read_dir(out.path()).unwrap().collect();
    tables.sort_by_key(|file| file.as_ref().unwrap().file_name());
    let tables = tables
        .into_iter()
        .map(|file| std::fs::read(file.unwrap().path()).unwrap());
    let report = report.map_or_else(|error| error.to_string(), |report| report.to_json());
    (report, tables.collect())
}

#[test]
fn tables_are_the_same_however_a_log_is_read() {
    let recorded = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/fixtures/eventlog/recorded"
    );
    let folder = tempfile::tempdir().unwrap();
    let mut logs = Vec::new();
    for entry in std::fs::read_dir(recorded).unwrap() {
        let log = entry.unwrap().path();
        if log.is_file() {
            let bytes = std::fs::read(&log).unwrap();
            let cut = folder.path().join(log.file_name().unwrap());
            std::fs::write(&cut, &bytes[..bytes.len() * 2 / 3]).unwrap();
            logs.push(cut);
        }
        logs.push(log);
    }
    logs.push(folder.path().join("rubbish.zstd"));
    std::fs::write(&logs[logs.len() - 1], b"\x28\xB5\x2F\xFDrubbish").unwrap();
    assert!(logs.len() > 10);
    for log in logs {
        assert!(
            ingested(&log, true) == ingested(&log, false),
            "{}",
            log.display()
        );
    }
}

#[test]
fn a_log_that_is_read_beside_can_be_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let line = "{\"Event\":\"SparkListenerLogStart\",\"Spark Version\":\"4.0.0\"}\n";
    std::fs::write(&log, line.repeat((40 << 20) / line.len())).unwrap();
    let (logs, doubts) = source::find(&[log]).unwrap();
    let mut asked = 0;
    let mut go_on = || {
        asked += 1;
        asked < 2
    };
    let read = ingest_found(&logs, doubts, true, folder.path(), &mut go_on);
    assert!(matches!(read, Err(Error::Interrupted)));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
