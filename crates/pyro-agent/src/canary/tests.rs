//! Canaries of a host whose processes are a recorded tree, by programs that print, fail and hang.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use std::thread::sleep;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::canary::{Canary, Lines, Measured, Presence};
use crate::executors::ProcTree;
use crate::executors::tests::{STANDALONE, plant};

const PRINTED: &str =
    r#"{"copy_bytes_per_s": [8e9, 9e9], "latency_ns": [90.5, 91], "alu_ns": [4, 5, 6]}"#;
const OTHER: &str = "[77]\ncomm: python3\ncgroup: 0::/user.slice\nstart: 9\nword: python3\n";
const DAY: Duration = Duration::from_secs(86_400);

/// One test at a time: a program that is being written here, and by that in a child of another test, cannot be
/// executed.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(|failed| failed.into_inner())
}

/// A host, what is on it, and where its canaries are written.
struct Host {
    folder: TempDir,
    canary: Canary,
    _alone: MutexGuard<'static, ()>,
}

impl Host {
    fn new(tree: &str, script: &str, limit: Duration) -> Self {
        let _alone = alone();
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["proc", "raw"] {
            fs::create_dir(at(name)).unwrap();
        }
        plant(&at("proc"), tree);
        fs::write(at("probe"), format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(at("probe"), fs::Permissions::from_mode(0o755)).unwrap();
        let presence = Presence::new(ProcTree::new(&at("proc")));
        let mut canary = Canary::new(at("probe"), DAY, limit, presence);
        canary.write_to(Lines::begin(&File::open(at("raw")).unwrap(), "h/1").unwrap());
        Self {
            folder,
            canary,
            _alone,
        }
    }

    /// Steps until nothing is measured any more.
    fn measure(&mut self) {
        self.canary.step();
        while self.canary.is_running() {
            sleep(Duration::from_millis(5));
            self.canary.step();
        }
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn lines(&self) -> Vec<Value> {
        lines(&self.at("raw"))
    }

    fn states(&self) -> Vec<String> {
        let lines = self.lines();
        let states = lines.iter().map(|line| line["state"].as_str().unwrap());
        states.map(str::to_owned).collect()
    }
}

fn lines(raw: &Path) -> Vec<Value> {
    let text = fs::read_to_string(raw.join("canary-h%2F1.ndjson")).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn printing(text: &str) -> String {
    format!("[ \"$*\" = 'canary --json' ] || exit 9\ncat <<'END'\n{text}\nEND")
}

#[test]
fn a_free_host_is_measured_with_all_repetitions_and_both_clocks() {
    let mut host = Host::new(OTHER, &printing(PRINTED), DAY);
    host.measure();
    let (line, report) = (host.lines().remove(0), host.canary.report());
    assert_eq!(line["schema"], "pyrometer/canary/1");
    assert_eq!(
        (&line["state"], &line["reason"]),
        (&"measured".into(), &Value::Null)
    );
    assert_eq!(line["alu_ns"], json!([4.0, 5.0, 6.0]));
    assert_eq!(line["latency_ns"], json!([90.5, 91.0]));
    assert_eq!(line["copy_bytes_per_s"], json!([8e9, 9e9]));
    for clock in ["wall_ns", "mono_ns"] {
        let at = |end: &str| line[format!("{end}_{clock}")].as_i64().unwrap();
        assert!(0 < at("begin") && at("begin") <= at("end"), "{line}");
    }
    assert_eq!(
        (&report["measured_count"], &report["state"]),
        (&1.into(), &"waiting".into())
    );
    assert_eq!(report["last_wall_ns"], line["end_wall_ns"]);
    // The next one is due in a day.
    host.measure();
    assert_eq!(host.lines().len(), 1);
}

#[test]
fn beside_executors_nothing_is_measured_and_that_is_said_once() {
    let mut host = Host::new(STANDALONE, &printing(PRINTED), DAY);
    for _ in 0..3 {
        host.measure();
    }
    assert_eq!(host.states(), ["not_free"]);
    let report = host.canary.report();
    assert_eq!(report["state"], "not free");
    assert_eq!(
        report["not_free_since_wall_ns"],
        host.lines()[0]["begin_wall_ns"]
    );
    // A driver alone is not disturbed either.
    for pid in ["2230", "2231"] {
        fs::remove_dir_all(host.at("proc").join(pid)).unwrap();
    }
    host.measure();
    assert_eq!(host.states(), ["not_free"]);
    fs::remove_dir_all(host.at("proc/2301")).unwrap();
    host.measure();
    assert_eq!(host.states(), ["not_free", "measured"]);
    assert_eq!(host.canary.report()["not_free_since_wall_ns"], Value::Null);
}

#[test]
fn one_is_broken_off_when_an_executor_comes_and_due_again_when_it_has_gone() {
    let mut host = Host::new(OTHER, "exec sleep 1000", DAY);
    host.canary.step();
    assert!(host.canary.is_running());
    plant(&host.at("proc"), STANDALONE);
    host.measure();
    assert_eq!(host.states(), ["broken_off"]);
    host.measure();
    assert_eq!(host.states(), ["broken_off", "not_free"]);
    for pid in ["2230", "2231", "2301"] {
        fs::remove_dir_all(host.at("proc").join(pid)).unwrap();
    }
    fs::write(
        host.at("probe"),
        format!("#!/bin/sh\n{}\n", printing(PRINTED)),
    )
    .unwrap();
    host.measure();
    assert_eq!(host.states(), ["broken_off", "not_free", "measured"]);
}

#[test]
fn one_that_ended_while_an_executor_came_is_not_believed() {
    let mut host = Host::new(OTHER, &format!("{}\nexec sleep 0", printing(PRINTED)), DAY);
    host.canary.step();
    plant(&host.at("proc"), STANDALONE);
    host.measure();
    assert_eq!(host.states(), ["broken_off"]);
    assert_eq!(host.lines()[0].get("alu_ns"), None);
}

#[test]
fn one_that_hangs_is_killed_with_what_it_started() {
    let script = "trap '' TERM\nsleep 1000 &\necho $! >> \"$(dirname \"$0\")/child\"\nwait";
    let mut host = Host::new(OTHER, script, Duration::from_millis(200));
    host.measure();
    assert_eq!(host.states(), ["killed"]);
    let report = host.canary.report();
    assert_eq!(
        (&report["killed_count"], &report["measured_count"]),
        (&1.into(), &0.into())
    );
    assert!(report["last_failure"].as_str().unwrap().contains("0.2 s"));
    // Whoever adopts it may not have looked yet.
    let child = fs::read_to_string(host.at("child")).unwrap();
    let stat = format!("/proc/{}/stat", child.trim());
    while fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn where_memory_is_short_it_goes_first() {
    let file = "/proc/$$/oom_score_adj";
    let script = format!(
        "until [ \"$(cat {file})\" = 1000 ]; do sleep 0.01; done\n{}",
        printing(PRINTED)
    );
    let mut host = Host::new(OTHER, &script, Duration::from_secs(10));
    host.measure();
    assert_eq!(host.states(), ["measured"]);
}

#[test]
fn failures_are_told_and_counted() {
    let beyond = format!("head -c 300000 /dev/zero\n{}", printing(PRINTED));
    for (script, why) in [
        ("exit 3", "exit status: 3"),
        ("kill -9 $$", "signal: 9"),
        ("echo '[1, 2]'", "no canary"),
        ("true", "no canary"),
        (&printing(&PRINTED.replace("4, 5, 6", "4, -5, 6")), "alu_ns"),
        (&printing(&PRINTED.replace("90.5, 91", "")), "latency_ns"),
        // What it leaves behind holds the pipe, and is not waited for.
        (
            "sleep 1000 & echo $! > \"$(dirname \"$0\")/child\"",
            "no canary",
        ),
        (&beyond, "it had not ended"),
    ] {
        let mut host = Host::new(OTHER, script, Duration::from_millis(500));
        host.measure();
        let line = host.lines().remove(0);
        assert!(
            line["reason"].as_str().unwrap().contains(why),
            "{script}: {line}"
        );
        assert_eq!(host.canary.report()["measured_count"], 0);
        if let Ok(child) = fs::read_to_string(host.at("child")) {
            let pid = rustix::process::Pid::from_raw(child.trim().parse().unwrap()).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
    }
    let mut host = Host::new(OTHER, "", DAY);
    fs::remove_file(host.at("probe")).unwrap();
    host.measure();
    let report = host.canary.report();
    assert!(
        report["last_failure"]
            .as_str()
            .unwrap()
            .contains("No such file")
    );
    assert_eq!(report["failed_count"], 1);
}

#[test]
fn a_new_folder_begins_with_the_last_lines() {
    let mut host = Host::new(OTHER, &printing(PRINTED), DAY);
    host.measure();
    let other = tempfile::tempdir().unwrap();
    let folder = File::open(other.path()).unwrap();
    host.canary.write_to(Lines::begin(&folder, "h/1").unwrap());
    assert_eq!(lines(other.path()), host.lines());
}

#[test]
fn the_file_is_bounded_and_what_is_left_out_counted() {
    let raw = tempfile::tempdir().unwrap();
    let folder = File::open(raw.path()).unwrap();
    let mut lines = Lines::begin(&folder, "h").unwrap();
    let line = "x".repeat(999);
    (0..1100).for_each(|_| lines.append(&line));
    let length = fs::metadata(raw.path().join("canary-h.ndjson"))
        .unwrap()
        .len();
    assert_eq!((length, lines.left_out()), (1_048_000, 52));
    assert!(
        Lines::begin(&folder, "h").is_err(),
        "a file of before is not gone on with"
    );
}

proptest! {
    #[test]
    fn what_is_printed_is_read_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        values in prop::collection::vec(any::<f64>(), 0..70),
    ) {
        let _ = Measured::parse(&bytes);
        let text = json!({"alu_ns": values, "latency_ns": [1], "copy_bytes_per_s": [2.5], "more": null});
        let is_sound = !values.is_empty() && values.len() <= 64
            && values.iter().all(|one| one.is_finite() && *one > 0.0);
        let read = Measured::parse(text.to_string().as_bytes());
        prop_assert_eq!(read.is_ok(), is_sound);
        if let Ok(read) = read {
            let again = serde_json::to_vec(&read).unwrap();
            let again = Measured::parse(&again).unwrap();
            for (was, is) in read.alu_ns.iter().zip(&again.alu_ns) {
                prop_assert!((was - is).abs() <= 1e-15 * was.abs(), "{was} {is}");
            }
        }
    }
}
