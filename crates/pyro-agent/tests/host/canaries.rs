//! Canaries, beside executors and across streams.

use std::fs;

use serde_json::Value;

use crate::support::{CLASS, alone, attempts, canaries, end, recorder, started, wait_until};

#[test]
fn canaries_are_shipped_and_taken_along_and_none_is_measured_beside_an_executor() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::create_dir(folder.join("store")).unwrap();
    recorder(folder);
    let processes = folder.join("proc");
    fs::create_dir(&processes).unwrap();
    let mut agent = started(folder)
        .args(["--renew", "0.02", "--canary", "1", "--proc"])
        .arg(&processes)
        .spawn()
        .unwrap();
    let last = || attempts(folder).pop().unwrap_or_default();
    wait_until(|| (attempts(folder).len() > 1).then_some(()));
    // A folder that was begun anew has at once what was measured before it.
    wait_until(|| {
        canaries(&last())
            .contains(&"measured".to_owned())
            .then_some(())
    });
    let java = processes.join("77");
    fs::create_dir(&java).unwrap();
    let line = format!("java\0{CLASS}\0--executor-id\05\0--app-id\0a\0");
    fs::write(java.join("cmdline"), line).unwrap();
    fs::write(java.join("comm"), "java\n").unwrap();
    wait_until(|| {
        let report = fs::read_to_string(last().join("agent-h.report.json")).ok()?;
        let report: Value = serde_json::from_str(&report).ok()?;
        (report["canary"]["state"] == "not free").then_some(())
    });
    end(&mut agent);
    let states = canaries(&last());
    assert_eq!(states.last().unwrap(), "not_free");
    assert!(states.contains(&"measured".to_owned()), "{states:?}");
}
