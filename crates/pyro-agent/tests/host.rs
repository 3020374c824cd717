//! The program on a host: executors are found, recorded and shipped, and what a killed agent left is, too.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::thread::sleep;
use std::time::Duration;

use pyro_chunks::join::join_folder;
use serde_json::Value;

const CLASS: &str = "org.apache.spark.executor.CoarseGrainedExecutorBackend";

/// One test at a time: a file that is being written here, and by that in a child of another test, cannot be executed.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(|failed| failed.into_inner())
}

/// The program beside this test.
fn program() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.parent().unwrap().with_file_name("pyro-agent")
}

/// A shell under another name that waits for its input: its command line is that of an executor.
fn executor(folder: &Path, app: &str) -> Child {
    let java = folder.join("java");
    if !java.exists() {
        fs::copy("/bin/sh", &java).unwrap();
    }
    let mut command = Command::new(&java);
    command.args([
        "-s",
        CLASS,
        "--executor-id",
        "5",
        "--cores",
        "8",
        "--app-id",
        app,
    ]);
    command.stdin(Stdio::piped()).spawn().unwrap()
}

/// A recorder that fails as long as a file `fails` is there, which it removes, and is sound then.
fn failing(folder: &Path, failure: &str) {
    recorder(folder);
    fs::rename(folder.join("probe"), folder.join("sound")).unwrap();
    let (fails, sound) = (folder.join("fails"), folder.join("sound"));
    let text = format!(
        "#!/bin/sh\nall=\"$*\"\nfor word; do case $last in --raw-dir) raw=$word;; esac; last=$word; done\n\
         if rm '{}' 2>/dev/null; then {failure}; fi\nexec '{}' $all\n",
        fails.display(),
        sound.display()
    );
    fs::write(&fails, "").unwrap();
    fs::write(folder.join("probe"), text).unwrap();
    fs::set_permissions(folder.join("probe"), fs::Permissions::from_mode(0o755)).unwrap();
}

/// The report of an attempt, as it arrived last.
fn report(attempt: &Path) -> Option<Value> {
    let text = fs::read_to_string(attempt.join("agent-h.report.json")).ok()?;
    serde_json::from_str(&text).ok()
}

/// A recorder that writes what it was given until it is asked to end, or its keeper has.
fn recorder(folder: &Path) -> PathBuf {
    let probe = folder.join("probe");
    let text = "#!/bin/sh\n\
        while [ $# -gt 0 ]; do\n\
        case $1 in canary) echo '{\"alu_ns\":[4],\"latency_ns\":[90],\"copy_bytes_per_s\":[8e9]}'; exit;; --raw-dir) raw=$2;; --keeper-pid) keeper=$2;; esac\n\
        all=\"$all $1\"; shift; done\n\
        trap 'echo end >> \"$raw/probe.log\"; exit 0' TERM\n\
        echo \"$all\" >> \"$raw/probe.log\"\n\
        while kill -0 $keeper 2>/dev/null; do sleep 0.05; done\n";
    fs::write(&probe, text).unwrap();
    fs::set_permissions(&probe, fs::Permissions::from_mode(0o755)).unwrap();
    probe
}

fn agent(folder: &Path) -> Child {
    started(folder).spawn().unwrap()
}

fn started(folder: &Path) -> Command {
    let mut command = Command::new(program());
    command
        .args(["host", "--host", "h", "--every", "0.1", "--to"])
        .arg(folder.join("store"));
    command.arg("--work-dir").arg(folder.join("work"));
    command.arg("--probe").arg(folder.join("probe"));
    command
}

/// Canaries of an attempt, by how they ended.
fn canaries(attempt: &Path) -> Vec<String> {
    let text = fs::read_to_string(attempt.join("canary-h.ndjson")).unwrap_or_default();
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .map(|line| line["state"].as_str().unwrap().to_owned())
        .collect()
}

/// The files of each attempt, as they have arrived.
fn attempts(folder: &Path) -> Vec<PathBuf> {
    let out = folder.join("out");
    join_folder(&folder.join("store"), &out).unwrap();
    let attempts = fs::read_dir(out.join("host/host")).into_iter().flatten();
    let mut attempts: Vec<_> = attempts
        .map(|entry| entry.unwrap().path().join("h"))
        .collect();
    attempts.sort();
    attempts
}

/// What was found of an application, in files of an attempt.
fn found(attempt: &Path, app: &str) -> Option<Value> {
    let files = fs::read_dir(attempt)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path());
    let texts = files.filter_map(|path| {
        let name = path.file_name()?.to_str()?;
        name.starts_with("executor-")
            .then(|| fs::read_to_string(&path).ok())?
    });
    let mut values = texts.filter_map(|text| serde_json::from_str::<Value>(&text).ok());
    values.find(|value| value["found"]["app"] == app)
}

fn wait_until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        sleep(Duration::from_millis(50));
    }
}

fn end(child: &mut Child) {
    assert!(ended(child).success());
}

fn ended(child: &mut Child) -> ExitStatus {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    child.wait().unwrap()
}

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
fn a_store_that_is_refused_leaves_no_folder() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut agent = Command::new(program());
    agent.args([
        "host",
        "--host",
        "h",
        "--to",
        "file://relative",
        "--work-dir",
    ]);
    let told = agent.arg(folder.join("work")).output().unwrap();
    assert_eq!(told.status.code(), Some(1));
    let told = String::from_utf8(told.stderr).unwrap();
    assert!(told.contains("Give file:///FOLDER"), "{told}");
    assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
}

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

#[test]
fn a_work_folder_where_others_may_write_is_refused() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let (folder, work) = (folder.path(), folder.path().join("work"));
    fs::create_dir(folder.join("store")).unwrap();
    fs::create_dir(&work).unwrap();
    for rights in [0o777, 0o1777, 0o770] {
        fs::set_permissions(&work, fs::Permissions::from_mode(rights)).unwrap();
        let told = started(folder).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(told.status.code(), Some(1));
        let told = String::from_utf8(told.stderr).unwrap();
        assert!(told.contains("work: others may write there"), "{told}");
        assert_eq!(fs::read_dir(&work).unwrap().count(), 0);
    }
}

#[test]
fn folders_of_others_are_left_alone() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::create_dir(folder.join("store")).unwrap();
    // Two names that could be those of an agent's folders, one of which another host's agent took.
    let (notes, other) = (folder.join("work/abc"), folder.join("work/abd"));
    fs::create_dir_all(&notes).unwrap();
    fs::write(notes.join("notes.log"), "precious\n").unwrap();
    fs::create_dir(&other).unwrap();
    fs::write(other.join(".shipping.lock"), "").unwrap();
    fs::write(other.join(".shipping.json"), "{}").unwrap();
    let mut agent = agent(folder);
    wait_until(|| {
        let report = attempts(folder).first()?.join("agent-h.report.json");
        report.exists().then_some(())
    });
    end(&mut agent);
    assert_eq!(
        fs::read_dir(folder.join("store/host/host"))
            .unwrap()
            .count(),
        1
    );
    assert!(notes.join("notes.log").is_file() && other.is_dir());
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
