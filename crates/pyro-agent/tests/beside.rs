//! Beside one process, as the plugin starts it: recorded, shipped to the end, and nothing is left.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use pyro_chunks::join::join_folder;
use serde_json::Value;

fn program() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.parent().unwrap().with_file_name("pyro-agent")
}

/// A recorder that writes what it was given, and once more when it is asked to end.
fn recorder(folder: &Path) -> PathBuf {
    let probe = folder.join("probe");
    let text = "#!/bin/sh\n\
        all=\"$*\"; echo complaint >&2\n\
        while [ $# -gt 0 ]; do case $1 in --raw-dir) raw=$2;; esac; shift; done\n\
        trap 'echo end >> \"$raw/probe.log\"; exit 0' TERM\n\
        echo \"$all\" >> \"$raw/probe.log\"\n\
        while :; do sleep 0.05; done\n";
    fs::write(&probe, text).unwrap();
    fs::set_permissions(&probe, fs::Permissions::from_mode(0o755)).unwrap();
    probe
}

fn begin(folder: &Path, writer: &Child) {
    fs::create_dir(folder.join("raw")).unwrap();
    fs::create_dir(folder.join("store")).unwrap();
    let probe = recorder(folder);
    let started = Command::new(program())
        .args(["ship", "--app", "app", "--executor", "1", "--host", "h"])
        .args(["--every", "0.1", "--detach", "--remove", "--free"])
        .args(["--until-pid", &writer.id().to_string()])
        .arg("--to")
        .arg(folder.join("store"))
        .arg("--raw-dir")
        .arg(folder.join("raw"))
        .arg("--probe")
        .arg(probe)
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(started.success());
}

fn wait_until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_killed_writer_leaves_nothing_behind_and_all_has_arrived() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let mut writer = Command::new("sleep").arg("600").spawn().unwrap();
    begin(folder, &writer);
    wait_until(|| folder.join("raw/probe.log").exists().then_some(()));
    fs::write(folder.join("raw/gc-7.log"), "one\ntw").unwrap();
    writer.kill().unwrap();
    writer.wait().unwrap();
    wait_until(|| (!folder.join("raw").exists()).then_some(()));
    let out = folder.join("out");
    let joined = join_folder(&folder.join("store"), &out).unwrap();
    assert!(joined.streams.iter().all(|stream| stream.tally.ended));
    let attempts = fs::read_dir(out.join("app/1")).unwrap();
    let attempt = attempts.map(|entry| entry.unwrap().path().join("h")).next();
    let read = |name: &str| fs::read_to_string(attempt.as_ref().unwrap().join(name)).unwrap();
    assert_eq!(read("gc-7.log"), "one\ntw");
    let log = read("probe.log");
    let root = format!("--root-pid {} --keeper-pid", writer.id());
    assert!(log.contains(&root) && log.contains("--tier T1"), "{log}");
    assert!(log.ends_with("end\n"), "{log}");
    assert_eq!(read("probe-h.log"), "complaint\n");
    let report: Value = serde_json::from_str(&read("agent-h.report.json")).unwrap();
    assert_eq!(report["end_reason"], "its writer ended");
    assert_eq!(report["recorder"]["state"], "ended");
}
