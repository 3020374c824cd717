//! What killed agents left.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::support::{agent, alone, attempts, ended, failing, report, started, wait_until};

#[test]
fn agents_that_are_killed_while_the_store_is_away_have_one_spool_together() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let wrote = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do \
        head -c 131072 /dev/zero | tr '\\0' '\\n' >> $raw/probe-h-rows.ndjson; sleep 0.15; done; \
        while kill -0 $PPID 2>/dev/null; do sleep 0.05; done";
    failing(folder, wrote);
    let reports = || -> Vec<Value> {
        let raws = fs::read_dir(folder.join("work")).into_iter().flatten();
        raws.filter_map(|raw| report(&raw.unwrap().path()))
            .collect()
    };
    let bytes = |field: &str| -> Vec<u64> {
        let reports = reports().into_iter();
        reports
            .map(|one| one["shipping"][field].as_u64().unwrap())
            .collect()
    };
    let live = |lives: usize| {
        fs::write(folder.join("fails"), "").unwrap();
        let mut agent = started(folder);
        let mut agent = agent
            .args(["--spool-mib", "1", "--canary", "0"])
            .spawn()
            .unwrap();
        // All of 2 MiB has been taken or dropped.
        wait_until(|| {
            let dropped = bytes("dropped_bytes").iter().sum::<u64>();
            let seen = dropped + bytes("waiting_bytes").iter().sum::<u64>();
            (seen >= (lives as u64) << 21).then_some(())
        });
        agent.kill().unwrap();
        agent.wait().unwrap();
    };
    (1..5).for_each(live);
    let waiting = bytes("waiting_bytes");
    assert_eq!(waiting.len(), 4);
    assert!(waiting.iter().sum::<u64>() < 3 << 19, "{waiting:?}");

    // What was kept arrives, and streams are begun anew that have their beginnings.
    fs::create_dir(folder.join("store")).unwrap();
    let mut agent = started(folder);
    let mut agent = agent
        .args(["--spool-mib", "1", "--canary", "0"])
        .spawn()
        .unwrap();
    wait_until(|| (fs::read_dir(folder.join("work")).unwrap().count() == 1).then_some(()));
    ended(&mut agent);
    let arrived = attempts(folder);
    let reports = arrived.iter().filter_map(|attempt| report(attempt));
    let ends: Vec<Value> = reports.map(|one| one["end_reason"].clone()).collect();
    assert_eq!(
        ends.iter().filter(|&end| end == "killed").count(),
        4,
        "{ends:?}"
    );
}

#[test]
fn what_was_left_waits_for_the_store_as_patiently_as_all_else() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let reports = || -> Vec<Value> {
        let raw = fs::read_dir(folder.join("work")).into_iter().flatten();
        let paths = raw.map(|raw| raw.unwrap().path().join("agent-h.report.json"));
        let texts = paths.filter_map(|path| fs::read_to_string(path).ok());
        texts
            .map(|text| serde_json::from_str(&text).unwrap())
            .collect()
    };
    for lives in 1..3 {
        let mut agent = agent(folder);
        wait_until(|| (reports().len() == lives).then_some(()));
        sleep(Duration::from_millis(500));
        agent.kill().unwrap();
        agent.wait().unwrap();
    }
    // Without a store the last rounds of the folder that was left, which do not wait, have not come.
    assert!(reports().iter().all(|report| report["state"] == "running"));
}
