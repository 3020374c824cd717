//! The program: what is written is in the store, wherever the agent is killed, and nothing else is.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use pyro_chunks::join::{Joined, join_folder};

/// The program beside this test: `CARGO_BIN_EXE_pyro-agent` is no name that the shell of our compiler's wrapper keeps.
fn agent() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.parent().unwrap().with_file_name("pyro-agent")
}

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("raw")).unwrap();
        fs::create_dir(folder.path().join("store")).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn append(&self, name: &str, text: &str) {
        let mut options = File::options();
        let file = options
            .create(true)
            .append(true)
            .open(self.path("raw").join(name));
        file.unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn agent(&self, more: &[&str]) -> Command {
        let mut command = Command::new(agent());
        command.args([
            "ship",
            "--app",
            "app 1/../x",
            "--executor",
            "1",
            "--host",
            "h",
            "--every",
            "0.1",
        ]);
        command.arg("--raw-dir").arg(self.path("raw"));
        command.arg("--to").arg(self.path("store")).args(more);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Makes the files again; the folder of the only attempt.
    fn joined(&self) -> (Joined, PathBuf) {
        self.arrived().expect("something")
    }

    fn arrived(&self) -> Option<(Joined, PathBuf)> {
        let out = self.path("out");
        let joined = join_folder(&self.path("store"), &out).unwrap();
        let attempts = fs::read_dir(out.join("app%201%2F..%2Fx/1")).ok()?;
        let attempts: Vec<_> = attempts.map(|entry| entry.unwrap().path()).collect();
        assert_eq!(attempts.len(), 1);
        Some((joined, attempts[0].join("h")))
    }

    /// Waits until so many bytes of a file are in the store.
    fn wait_for(&self, name: &str, bytes: usize) {
        let length = |folder: PathBuf| fs::read(folder.join(name)).map_or(0, |text| text.len());
        while self.arrived().map_or(0, |(_, folder)| length(folder)) < bytes {
            sleep(Duration::from_millis(50));
        }
    }
}

fn finished(child: Child) -> Output {
    child.wait_with_output().unwrap()
}

fn terminate(child: &Child) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
}

#[test]
fn killed_agents_lose_nothing_and_the_end_is_told() {
    let place = Place::new();
    let mut writer = Command::new("sleep").arg("600").spawn().unwrap();
    let pid = writer.id().to_string();
    let text = |from: usize, to: usize| -> String {
        (from..to)
            .map(|line| format!("{{\"line\": {line}}}\n"))
            .collect()
    };
    let mut written = 0;
    for life in 0..3 {
        let mut agent = place
            .agent(&["--until-pid", &pid, "--free"])
            .spawn()
            .unwrap();
        for _ in 0..5 {
            place.append("plugin-executor-1-7.ndjson", &text(written, written + 500));
            written += 500;
            sleep(Duration::from_millis(30 * life));
        }
        if life > 0 {
            place.wait_for("plugin-executor-1-7.ndjson", 100);
        }
        agent.kill().unwrap();
        finished(agent);
    }
    let agent = place
        .agent(&["--until-pid", &pid, "--free"])
        .spawn()
        .unwrap();
    place.append("plugin-executor-1-7.ndjson", "{\"half\": ");
    writer.kill().unwrap();
    writer.wait().unwrap();
    let output = finished(agent);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let (joined, folder) = place.joined();
    let made = fs::read_to_string(folder.join("plugin-executor-1-7.ndjson")).unwrap();
    assert!(made == text(0, written) + "{\"half\": ");
    let of = |file: &str| {
        joined
            .streams
            .iter()
            .find(|stream| stream.file.as_deref() == Some(file))
    };
    let stream = of("plugin-executor-1-7.ndjson").unwrap();
    assert!(stream.tally.ended && stream.tally.repeated_bytes == 0);
    let report = fs::read_to_string(folder.join("agent-h.report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["end_reason"], "its writer ended");
    assert_eq!(report["shipping"]["lost_bytes"], 0);
    assert!(report["own_peak_rss_bytes"].as_u64().unwrap() < 50 << 20);
}

#[test]
fn sigterm_ships_what_is_whole_and_links_lead_nowhere() {
    let place = Place::new();
    place.append("gc-1.log", "one\ntw");
    std::os::unix::fs::symlink("/etc/passwd", place.path("raw/passwd.log")).unwrap();
    let agent = place.agent(&[]).spawn().unwrap();
    place.wait_for("gc-1.log", 4);
    place.append("gc-1.log", "o\nthr");
    terminate(&agent);
    assert!(finished(agent).status.success());
    let (joined, folder) = place.joined();
    assert_eq!(
        fs::read_to_string(folder.join("gc-1.log")).unwrap(),
        "one\ntwo\n"
    );
    let mut files: Vec<_> = joined
        .streams
        .iter()
        .filter_map(|one| one.file.clone())
        .collect();
    files.sort();
    assert_eq!(files, ["agent-h.report.json", "gc-1.log"]);
}

#[test]
fn a_removed_folder_is_shipped_to_its_end() {
    let place = Place::new();
    place.append("gc-1.log", "one\n");
    let agent = place.agent(&[]).spawn().unwrap();
    place.wait_for("gc-1.log", 4);
    place.append("gc-1.log", "two\nthr");
    fs::remove_dir_all(place.path("raw")).unwrap();
    let output = finished(agent);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let (_, folder) = place.joined();
    assert_eq!(
        fs::read_to_string(folder.join("gc-1.log")).unwrap(),
        "one\ntwo\nthr"
    );
}

#[test]
fn what_was_dropped_is_not_a_success() {
    let place = Place::new();
    place.append("gc-1.log", &"a line of a log\n".repeat(600_000));
    let agent = place.agent(&["--spool-mib", "1"]).spawn().unwrap();
    place.wait_for("gc-1.log", 4_000_000);
    terminate(&agent);
    let output = finished(agent);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("bytes were dropped"), "{said}");
}

#[test]
fn a_record_that_cannot_be_saved_is_told_at_the_end() {
    let place = Place::new();
    place.append("gc-1.log", "one\n");
    // A folder is in its way, as a disk that is full would be.
    fs::create_dir(place.path("raw/..shipping.json.tmp")).unwrap();
    let agent = place.agent(&[]).spawn().unwrap();
    while !place.path("raw/.shipping.lock").exists() {
        sleep(Duration::from_millis(20));
    }
    terminate(&agent);
    let output = finished(agent);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("saved (Is a directory"), "{said}");
}

#[test]
fn a_folder_with_a_file_that_is_left_out_is_not_removed() {
    let place = Place::new();
    place.append("gc-1.log", "one\n");
    place.append("r.json", &" ".repeat(5 << 20));
    let unnamed = place.path("raw").join(OsStr::from_bytes(b"gc-\xff.log"));
    fs::write(&unnamed, "two\n").unwrap();
    let mut writer = Command::new("true").spawn().unwrap();
    let pid = writer.id().to_string();
    writer.wait().unwrap();
    let mut agent = place.agent(&["--until-pid", &pid, "--remove"]);
    let output = agent.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("2 files or folders were left out"), "{said}");
    assert!(place.path("raw/r.json").is_file() && unnamed.is_file());
    let (_, folder) = place.joined();
    assert_eq!(
        fs::read_to_string(folder.join("gc-1.log")).unwrap(),
        "one\n"
    );
}

#[test]
fn what_cannot_begin_says_why() {
    let place = Place::new();
    let refused = |command: &mut Command, word: &str| {
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains(word), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    };
    let wrong = Command::new(agent()).arg("dance").output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    let first = place.agent(&[]).spawn().unwrap();
    while !place.path("raw/.shipping.json").exists() {
        sleep(Duration::from_millis(20));
    }
    refused(&mut place.agent(&[]), "another agent");
    terminate(&first);
    finished(first);
    fs::remove_dir_all(place.path("raw")).unwrap();
    refused(&mut place.agent(&[]), "No such file");
}

#[test]
fn executors_are_printed() {
    let output = Command::new(agent())
        .args(["executors", "--json", "--proc"])
        .arg(Path::new("/proc"))
        .output()
        .unwrap();
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["schema"], "pyrometer/executors/1");
    assert!(found["executors"].is_array());
}
