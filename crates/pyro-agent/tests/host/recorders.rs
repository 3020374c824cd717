//! Recorders that end, or are not there.

use std::fs;

use serde_json::Value;

use crate::support::{agent, alone, attempts, end, executor, failing, found, report, wait_until};

#[test]
fn without_a_recorder_the_rest_goes_on() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::create_dir(folder.join("store")).unwrap();
    let app = format!("other-{}", std::process::id());
    let mut java = executor(folder, &app);
    let mut agent = agent(folder);
    wait_until(|| found(attempts(folder).first()?, &app));
    end(&mut agent);
    drop(java.stdin.take());
    java.wait().unwrap();
    let report = fs::read_to_string(attempts(folder)[0].join("agent-h.report.json")).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["recorder"]["state"], "missing");
    assert!(
        report["recorder"]["reason"]
            .as_str()
            .unwrap()
            .contains("No such file")
    );
}

#[test]
fn after_a_recorder_that_left_rows_streams_are_begun_anew() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::create_dir(folder.join("store")).unwrap();
    failing(
        folder,
        "echo row > $raw/probe-h-rows.ndjson; sleep 0.3; exit 3",
    );
    let mut agent = agent(folder);
    wait_until(|| {
        let again = report(attempts(folder).get(1)?)?;
        (again["recorder"]["state"] == "running").then_some(())
    });
    end(&mut agent);
    let attempts = attempts(folder);
    assert_eq!(attempts.len(), 2);
    let rows = fs::read_to_string(attempts[0].join("probe-h-rows.ndjson")).unwrap();
    assert_eq!(rows, "row\n");
    let [first, second] = [0, 1].map(|number| report(&attempts[number]).unwrap());
    assert_eq!(first["end_reason"], "its recorder ended");
    assert_eq!(first["recorder"]["state"], "ended");
    assert_eq!(first["recorder"]["reason"], "exit status: 3");
    for told in [&first["recorder"], &second["recorder"]] {
        assert_eq!(
            (&told["restarts_count"], &told["gaps_count"]),
            (&1.into(), &1.into())
        );
        let gap = &told["gaps"][0];
        assert_eq!(gap["reason"], "exit status: 3");
        let unrecorded =
            gap["until_wall_ns"].as_i64().unwrap() - gap["since_wall_ns"].as_i64().unwrap();
        assert!(unrecorded > 0, "it is left alone for a while");
        assert_eq!(told["unrecorded_ns"], unrecorded);
    }
}

#[test]
fn a_recorder_that_left_nothing_is_started_again_in_the_same_streams() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::create_dir(folder.join("store")).unwrap();
    failing(folder, "kill -9 $$");
    let mut first = agent(folder);
    let told = wait_until(|| {
        let told = report(attempts(folder).first()?)?;
        (told["recorder"]["restarts_count"] == 1).then(|| told["recorder"].clone())
    });
    assert_eq!(told["state"], "running");
    assert!(
        told["gaps"][0]["reason"]
            .as_str()
            .unwrap()
            .contains("signal: 9"),
        "{told}"
    );
    assert_eq!(attempts(folder).len(), 1);
    end(&mut first);

    // One that is not there yet.
    fs::remove_dir_all(folder.join("out")).unwrap();
    fs::rename(folder.join("probe"), folder.join("later")).unwrap();
    let mut second = agent(folder);
    wait_until(|| {
        let told = report(attempts(folder).get(1)?)?;
        (told["recorder"]["state"] == "missing").then_some(())
    });
    fs::rename(folder.join("later"), folder.join("probe")).unwrap();
    let told = wait_until(|| {
        let told = report(attempts(folder).get(1)?)?;
        (told["recorder"]["state"] == "running").then(|| told["recorder"].clone())
    });
    assert_eq!(
        (&told["restarts_count"], &told["given_up"]),
        (&1.into(), &false.into())
    );
    assert!(
        told["gaps"][0]["reason"]
            .as_str()
            .unwrap()
            .contains("No such file"),
        "{told}"
    );
    end(&mut second);
}
