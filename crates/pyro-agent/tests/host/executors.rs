//! Executors, and a shell that becomes one.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::support::{CLASS, agent, alone, attempts, end, executor, found, recorder, wait_until};

#[test]
fn executors_are_found_recorded_and_shipped() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::create_dir(folder.join("store")).unwrap();
    recorder(folder);
    let app = format!("app-$(id)-{}", std::process::id());
    let mut java = executor(folder, &app);
    let mut first = agent(folder);
    let seen = wait_until(|| found(attempts(folder).first()?, &app));
    assert_eq!(seen["found"]["executor"], "5");
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert_eq!(seen["host"], host.trim());
    assert_eq!(
        (&seen["found"]["cores"], &seen["found"]["pid"]),
        (&8.into(), &java.id().into())
    );
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(fs::read_dir(folder.join("work")).unwrap().count(), 1);

    let mut second = agent(folder);
    wait_until(|| found(attempts(folder).get(1)?, &app));
    wait_until(|| (fs::read_dir(folder.join("work")).ok()?.count() == 1).then_some(()));
    end(&mut second);
    drop(java.stdin.take());
    java.wait().unwrap();
    assert_eq!(
        fs::read_dir(folder.join("work")).unwrap().count(),
        0,
        "all of it has arrived"
    );
    let attempts = attempts(folder);
    assert_eq!(attempts.len(), 2);
    let log = fs::read_to_string(attempts[1].join("probe.log")).unwrap();
    let root = format!("--root-pid {0} --keeper-pid {0}", second.id());
    assert!(log.contains(&root) && log.ends_with("end\n"), "{log}");
    for (attempt, reason) in attempts.iter().zip(["killed", "asked to stop"]) {
        let report = fs::read_to_string(attempt.join("agent-h.report.json")).unwrap();
        let report: Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["end_reason"], reason);
    }
}

#[test]
fn a_shell_that_becomes_a_jvm_is_found() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::create_dir(folder.join("store")).unwrap();
    std::os::unix::fs::symlink("/bin/sh", folder.join("java")).unwrap();
    let app = format!("later-{}", std::process::id());
    let java = format!(
        "read line; exec {}/java -s {CLASS} --executor-id 5 --app-id {app}",
        folder.display()
    );
    let mut shell = Command::new("sh");
    let shell = shell.args(["-c", &java]).stdin(Stdio::piped());
    let mut shell = shell.spawn().unwrap();
    let mut agent = agent(folder);
    wait_until(|| {
        let report = attempts(folder).first()?.join("agent-h.report.json");
        report.exists().then_some(())
    });
    sleep(Duration::from_millis(300));
    let mut input = shell.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, b"go\n").unwrap();
    let found = wait_until(|| found(attempts(folder).first()?, &app));
    assert_eq!(found["found"]["pid"], shell.id());
    end(&mut agent);
    drop(input);
    shell.wait().unwrap();
}
