//! The agent under test, and executors and recorders for it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::thread::sleep;
use std::time::{Duration, Instant};

use pyro_chunks::join::join_folder;
use serde_json::Value;

pub const CLASS: &str = "org.apache.spark.executor.CoarseGrainedExecutorBackend";

const PATIENCE: Duration = Duration::from_secs(300);

/// One test at a time: a file that is being written here, and by that in a child of another test, cannot be executed.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(|failed| failed.into_inner())
}

/// The program beside this test.
pub fn program() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.parent().unwrap().with_file_name("pyro-agent")
}

/// A shell under another name that waits for its input: its command line is that of an executor.
pub fn executor(folder: &Path, app: &str) -> Child {
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
pub fn failing(folder: &Path, failure: &str) {
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
pub fn report(attempt: &Path) -> Option<Value> {
    let text = fs::read_to_string(attempt.join("agent-h.report.json")).ok()?;
    serde_json::from_str(&text).ok()
}

/// A recorder that writes what it was given until it is asked to end, or its keeper has.
pub fn recorder(folder: &Path) -> PathBuf {
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

pub fn agent(folder: &Path) -> Child {
    started(folder).spawn().unwrap()
}

pub fn started(folder: &Path) -> Command {
    let mut command = Command::new(program());
    command
        .args(["host", "--host", "h", "--every", "0.1", "--to"])
        .arg(folder.join("store"));
    command.arg("--work-dir").arg(folder.join("work"));
    command.arg("--probe").arg(folder.join("probe"));
    command
}

/// Canaries of an attempt, by how they ended.
pub fn canaries(attempt: &Path) -> Vec<String> {
    let text = fs::read_to_string(attempt.join("canary-h.ndjson")).unwrap_or_default();
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .map(|line| line["state"].as_str().unwrap().to_owned())
        .collect()
}

/// The files of each attempt, as they have arrived.
pub fn attempts(folder: &Path) -> Vec<PathBuf> {
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
pub fn found(attempt: &Path, app: &str) -> Option<Value> {
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

/// Waits for what comes within seconds, also on a busy machine.
pub fn wait_until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(begun.elapsed() < PATIENCE, "it never comes");
        sleep(Duration::from_millis(50));
    }
}

pub fn end(child: &mut Child) {
    assert!(ended(child).success());
}

pub fn ended(child: &mut Child) -> ExitStatus {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    child.wait().unwrap()
}
