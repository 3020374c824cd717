//! Streams that are begun anew.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::support::{alone, attempts, end, executor, found, recorder, started, wait_until};

#[test]
fn streams_are_begun_anew_and_executors_found_in_them_again() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::create_dir(folder.join("store")).unwrap();
    recorder(folder);
    let app = format!("app-renewed-{}", std::process::id());
    let mut java = executor(folder, &app);
    let mut agent = started(folder).args(["--renew", "0.02"]).spawn().unwrap();
    let seen = wait_until(|| {
        let attempts = attempts(folder);
        let both = attempts.get(..2)?;
        both.iter()
            .all(|attempt| found(attempt, &app).is_some())
            .then(|| both[0].clone())
    });
    end(&mut agent);
    drop(java.stdin.take());
    java.wait().unwrap();
    assert_eq!(fs::read_dir(folder.join("work")).unwrap().count(), 0);
    attempts(folder);
    let log = fs::read_to_string(seen.join("probe.log")).unwrap();
    assert!(
        log.ends_with("end\n"),
        "its recorder was asked to end: {log}"
    );
    let report = fs::read_to_string(seen.join("agent-h.report.json")).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["end_reason"], "begun anew");
}

#[test]
fn streams_are_not_begun_anew_again_and_again_while_the_store_is_away() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    recorder(folder);
    let mut agent = started(folder).args(["--renew", "0.02"]).spawn().unwrap();
    let raws = || fs::read_dir(folder.join("work")).map_or(0, Iterator::count);
    wait_until(|| (raws() == 2).then_some(()));
    // The time in which two more would have been begun.
    sleep(Duration::from_secs(3));
    let begun = raws();
    agent.kill().unwrap();
    agent.wait().unwrap();
    assert_eq!(begun, 2);
}
