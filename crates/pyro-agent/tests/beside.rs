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

/// The agent of a folder, to be removed when this process has ended.
fn agent(folder: &Path, writer: &Child) -> Command {
    fs::create_dir(folder.join("raw")).unwrap();
    fs::create_dir(folder.join("store")).unwrap();
    let mut agent = Command::new(program());
    agent
        .args(["ship", "--app", "app", "--executor", "1", "--host", "h"])
        .args(["--every", "0.1", "--remove", "--free"])
        .args(["--thread-counters", "hardware"])
        .args(["--until-pid", &writer.id().to_string()])
        .arg("--to")
        .arg(folder.join("store"))
        .arg("--raw-dir")
        .arg(folder.join("raw"))
        .arg("--probe")
        .arg(recorder(folder))
        .stderr(Stdio::null());
    agent
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
    assert!(
        agent(folder, &writer)
            .arg("--detach")
            .status()
            .unwrap()
            .success()
    );
    let arguments = wait_until(|| {
        fs::read_to_string(folder.join("raw/probe.log"))
            .ok()
            .filter(|log| log.ends_with('\n'))
    });
    let keeper = arguments
        .split(' ')
        .skip_while(|word| *word != "--keeper-pid")
        .nth(1)
        .unwrap();
    let about = |file: &str| fs::read_to_string(format!("/proc/{keeper}/{file}")).unwrap();
    assert_eq!(
        about("oom_score_adj"),
        "1000\n",
        "memory is short: it goes first"
    );
    let session = about("stat")
        .split(") ")
        .nth(1)
        .unwrap()
        .split(' ')
        .nth(3)
        .unwrap()
        .to_owned();
    assert_eq!(
        session, keeper,
        "what ends the session of its starter does not reach it"
    );
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
    assert!(log.contains("--thread-counters hardware"), "{log}");
    assert!(log.ends_with("end\n"), "{log}");
    assert_eq!(read("probe-h.log"), "complaint\n");
    let report: Value = serde_json::from_str(&read("agent-h.report.json")).unwrap();
    assert_eq!(report["end_reason"], "its writer ended");
    assert_eq!(report["recorder"]["state"], "ended");
}

fn ask_to_stop(agent: &Child) {
    let pid = rustix::process::Pid::from_child(agent);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
}

#[test]
fn a_service_that_ends_the_agent_first_and_its_writer_then_leaves_nothing_behind() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let mut writer = Command::new("sleep").arg("600").spawn().unwrap();
    let mut agent = agent(folder, &writer).spawn().unwrap();
    wait_until(|| folder.join("raw/probe.log").exists().then_some(()));
    ask_to_stop(&agent);
    sleep(Duration::from_millis(300));
    writer.kill().unwrap();
    writer.wait().unwrap();
    assert!(agent.wait().unwrap().success());
    assert!(!folder.join("raw").exists());
}

#[test]
fn an_agent_that_is_asked_to_stop_leaves_the_folder_to_its_writer() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let mut writer = Command::new("sleep").arg("600").spawn().unwrap();
    let mut agent = agent(folder, &writer).spawn().unwrap();
    wait_until(|| folder.join("raw/probe.log").exists().then_some(()));
    ask_to_stop(&agent);
    assert!(agent.wait().unwrap().success());
    assert!(folder.join("raw/probe.log").exists());
    writer.kill().unwrap();
    writer.wait().unwrap();
}

#[test]
fn a_recorder_that_ended_is_started_again_unless_it_left_rows() {
    for (left, restarts) in [("probe-h.report.json", 0), ("notes", 1)] {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path();
        let mut writer = Command::new("sleep").arg("600").spawn().unwrap();
        let mut agent = agent(folder, &writer);
        let text = format!(
            "#!/bin/sh\nfor word; do case $last in --raw-dir) raw=$word;; esac; last=$word; done\n\
             if [ -e \"$raw/{left}\" ]; then exec sleep 600; fi\necho {{}} > \"$raw/{left}\"; exit 4\n"
        );
        fs::write(folder.join("probe"), text).unwrap();
        let mut agent = agent.spawn().unwrap();
        let told = wait_until(|| {
            let text = fs::read_to_string(folder.join("raw/agent-h.report.json")).ok()?;
            let told: Value = serde_json::from_str(&text).ok()?;
            let told = &told["recorder"];
            (told["gaps_count"] == 1 && told["restarts_count"] == restarts).then(|| told.clone())
        });
        assert_eq!(told["gaps"][0]["reason"], "exit status: 4");
        assert_eq!(told["gaps"][0]["until_wall_ns"].is_null(), restarts == 0);
        writer.kill().unwrap();
        writer.wait().unwrap();
        assert!(agent.wait().unwrap().success());
    }
}

#[test]
fn another_folder_of_the_same_name_stays() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let mut writer = Command::new("sleep").arg("600").spawn().unwrap();
    let mut agent = agent(folder, &writer).spawn().unwrap();
    wait_until(|| folder.join("raw/probe.log").exists().then_some(()));
    fs::rename(folder.join("raw"), folder.join("moved")).unwrap();
    fs::create_dir(folder.join("raw")).unwrap();
    fs::write(folder.join("raw/other"), "precious").unwrap();
    assert!(agent.wait().unwrap().success());
    assert_eq!(
        fs::read_to_string(folder.join("raw/other")).unwrap(),
        "precious"
    );
    writer.kill().unwrap();
    writer.wait().unwrap();
}
