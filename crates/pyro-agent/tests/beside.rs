//! Beside one process, as the plugin starts it: recorded, shipped to the end, and nothing is left.

use std::fs;
use std::io::Write as _;
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

/// What the agent of a folder says of its recorder.
fn told(folder: &Path) -> Option<Value> {
    let text = fs::read_to_string(folder.join("raw/agent-h.report.json")).ok()?;
    let told: Value = serde_json::from_str(&text).ok()?;
    Some(told["recorder"].clone())
}

fn kill(mut process: Child) {
    process.kill().unwrap();
    process.wait().unwrap();
}

#[test]
fn a_recorder_that_ended_is_started_again_and_replaces_no_rows() {
    for (left, again) in [("probe-h-series.arrows", "--part 2"), ("notes", "")] {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path();
        let writer = Command::new("sleep").arg("600").spawn().unwrap();
        let mut agent = agent(folder, &writer);
        let text = format!(
            "#!/bin/sh\nall=\"$*\"\n\
             for word; do case $last in --raw-dir) raw=$word;; esac; last=$word; done\n\
             if [ -e \"$raw/{left}\" ]; then echo \"$all\" > \"$raw/again\"; exec sleep 600; fi\n\
             echo {{}} > \"$raw/{left}\"; exit 4\n"
        );
        fs::write(folder.join("probe"), text).unwrap();
        let mut agent = agent.spawn().unwrap();
        let told = wait_until(|| told(folder).filter(|told| told["restarts_count"] == 1));
        assert_eq!(told["gaps_count"], 1);
        assert_eq!(told["gaps"][0]["reason"], "exit status: 4");
        assert!(told["gaps"][0]["until_wall_ns"].is_i64());
        let given = wait_until(|| {
            let given = fs::read_to_string(folder.join("raw/again")).ok();
            given.filter(|words| words.ends_with('\n'))
        });
        assert_eq!(given.contains("--part"), !again.is_empty());
        assert!(given.contains(again), "{given}");
        kill(writer);
        assert!(agent.wait().unwrap().success());
    }
}

#[test]
fn a_recorder_whose_file_was_removed_is_started_again() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let writer = Command::new("sleep").arg("600").spawn().unwrap();
    let mut agent = agent(folder, &writer);
    // It ends at once.
    fs::copy("/bin/false", folder.join("probe")).unwrap();
    let mut agent = agent.spawn().unwrap();
    wait_until(|| told(folder));
    fs::remove_file(folder.join("probe")).unwrap();
    // The second time not before it had been left alone for half a second at least.
    wait_until(|| told(folder).filter(|told| told["restarts_count"] == 2));
    kill(writer);
    assert!(agent.wait().unwrap().success());
}

#[test]
fn where_an_agent_was_killed_the_next_goes_on_with_a_recorder_and_tells_the_gap() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let writer = Command::new("sleep").arg("600").spawn().unwrap();
    let mut command = agent(folder, &writer);
    let text = "#!/bin/sh\n\
        for word; do case $last in\n\
        --raw-dir) raw=$word;; --keeper-pid) keeper=$word;; --part) part=.$word;;\n\
        esac; last=$word; done\n\
        echo rows > \"$raw/probe-h-series$part.arrows\"\n\
        while kill -0 $keeper 2>/dev/null; do sleep 0.05; done\n";
    fs::write(folder.join("probe"), text).unwrap();
    let parts = ["", ".2", ".3"].map(|part| format!("probe-h-series{part}.arrows"));
    let mut log = fs::File::create(folder.join("raw/gc-7.log")).unwrap();
    for (life, part) in parts.iter().take(2).enumerate() {
        let killed = command.spawn().unwrap();
        log.write_all(b"a line\n").unwrap();
        wait_until(|| told(folder).filter(|told| told["restarts_count"] == life));
        wait_until(|| folder.join("raw").join(part).exists().then_some(()));
        kill(killed);
    }
    let mut last = command.spawn().unwrap();
    log.write_all(b"a line\n").unwrap();
    let told = wait_until(|| told(folder).filter(|told| told["restarts_count"] == 2));
    assert_eq!(
        (&told["state"], &told["gaps_count"]),
        (&"running".into(), &2.into())
    );
    for gap in told["gaps"].as_array().unwrap() {
        assert_eq!(gap["reason"], "its agent ended");
        assert!(gap["until_wall_ns"].as_i64() >= gap["since_wall_ns"].as_i64());
    }
    kill(writer);
    assert!(last.wait().unwrap().success());
    let out = folder.join("out");
    let joined = join_folder(&folder.join("store"), &out).unwrap();
    assert!(
        joined
            .streams
            .iter()
            .all(|stream| stream.tally.repeated_bytes == 0)
    );
    let attempts: Vec<_> = fs::read_dir(out.join("app/1")).unwrap().collect();
    assert_eq!(attempts.len(), 1);
    let arrived = attempts[0].as_ref().unwrap().path().join("h");
    let read = |name: &str| fs::read_to_string(arrived.join(name)).unwrap();
    assert_eq!(read("gc-7.log"), "a line\n".repeat(3));
    for part in parts {
        assert_eq!(read(&part), "rows\n");
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
