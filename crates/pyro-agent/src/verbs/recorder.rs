//! The probe, as a child.

use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, UNIX_EPOCH};

use rustix::fs::OFlags;
use serde_json::{Value, json};

use crate::args::Pace;
use crate::umask;

/// The best tier for one process: what it costs the process itself is nothing.
const TIER_OF_ONE: &str = "T1";

/// Time for its last rows; then it is killed.
const LAST_ROWS: Duration = Duration::from_secs(5);

/// Why one has ended whose agent has.
pub const AGENT_ENDED: &str = "its agent ended";

/// How the name of the file of its complaints ends.
const LOG: &str = ".log";

/// Whom it records, with all descendants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// This process.
    Us,
    /// Another one.
    Process(i32),
}

/// The program of the probe, kept open: whoever started us may remove its file once we run.
#[derive(Debug)]
pub struct Program {
    path: PathBuf,
    file: Option<File>,
}

impl Program {
    /// The one of this path.
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            file: File::open(path).ok(),
        }
    }

    fn command(&self) -> Command {
        match &self.file {
            Some(file) if !self.path.exists() => {
                let mut command = Command::new(format!("/proc/self/fd/{}", file.as_raw_fd()));
                command.arg0(&self.path);
                command
            }
            _ => Command::new(&self.path),
        }
    }
}

/// The probe: it ends with us.
pub struct Recorder {
    child: Option<Child>,
    state: Value,
}

impl Recorder {
    /// Starts it, with files of its own beside earlier ones; what went wrong is in its state.
    pub fn start(program: &Program, of: Of, pace: &Pace, host: &str, raw: &Path) -> Self {
        let own = std::process::id().to_string();
        let host = file_host(host);
        let mut command = program.command();
        let root = match of {
            Of::Us => own.clone(),
            Of::Process(pid) => pid.to_string(),
        };
        command.args(["record", "--root-pid", &root, "--keeper-pid", &own]);
        if of != Of::Us {
            command.args(["--tier", TIER_OF_ONE]);
        }
        let part = next_part(raw, &host);
        if part > 1 {
            command.args(["--part", &part.to_string()]);
        }
        command
            .args(["--hz", &pace.hz.to_string()])
            .args(["--budget", &format!("{}%", pace.budget)])
            .args(["--thread-counters", &pace.thread_counters])
            .args(["--host", &host])
            .arg("--raw-dir")
            .arg(raw)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(complaints(of, raw, &host));
        match umask::start(&mut command) {
            Ok(child) => Self {
                state: json!({"state": "running", "pid": child.id(), "reason": null}),
                child: Some(child),
            },
            Err(error) => Self {
                child: None,
                state: json!({
                    "state": "missing",
                    "pid": null,
                    "reason": format!("{}: {error}", program.path.display()),
                }),
            },
        }
    }

    /// What there is to tell of one that ended with its agent, and in whose place there is none.
    pub fn gone() -> Value {
        json!({"state": "ended", "pid": null, "reason": AGENT_ENDED})
    }

    /// What there is to tell of it.
    pub fn state(&mut self) -> Value {
        if let Some(child) = &mut self.child
            && let Ok(Some(status)) = child.try_wait()
        {
            self.state = json!({"state": "ended", "pid": child.id(), "reason": status.to_string()});
            self.child = None;
        }
        self.state.clone()
    }

    /// Why it does not run; `None` while it does.
    pub fn ended(&mut self) -> Option<String> {
        let state = self.state();
        let reason = state["reason"].as_str().map(str::to_owned);
        (state["state"] != "running").then(|| reason.unwrap_or_default())
    }

    /// Asks it to end, and waits until its last rows are written, for a few seconds.
    pub fn stop(&mut self) {
        let Some(child) = &mut self.child else {
            return;
        };
        let pid = rustix::process::Pid::from_child(child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let deadline = Instant::now() + LAST_ROWS;
        while matches!(child.try_wait(), Ok(None)) {
            if Instant::now() >= deadline {
                let _ = child.kill();
                let _ = child.wait();
                break;
            }
            sleep(Duration::from_millis(20));
        }
        self.state();
    }
}

/// Whether a recorder has written into a folder, other than complaints: what it wrote would be replaced by another's.
pub fn has_written(raw: &Path) -> bool {
    let entries = fs::read_dir(raw).into_iter().flatten();
    let mut names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
    names.any(|name| {
        let name = name.to_string_lossy();
        name.starts_with("probe-") && !name.ends_with(LOG)
    })
}

/// When a recorder wrote into a folder last, Unix time in ns; `None` if none has.
pub fn last_written_wall_ns(raw: &Path, host: &str) -> Option<i64> {
    let host = file_host(host);
    let entries = fs::read_dir(raw).into_iter().flatten();
    let times = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        part_of(entry.file_name().to_str()?, &host)?;
        let modified = entry.metadata().ok()?.modified().ok()?;
        i64::try_from(modified.duration_since(UNIX_EPOCH).ok()?.as_nanos()).ok()
    });
    times.max()
}

/// The number that files of another recorder in a folder bear; 1, of the first, is in no name.
fn next_part(raw: &Path, host: &str) -> u32 {
    let entries = fs::read_dir(raw).into_iter().flatten();
    let parts = entries.filter_map(|entry| part_of(entry.ok()?.file_name().to_str()?, host));
    parts.max().map_or(1, |last| last.saturating_add(1))
}

/// The number of a recorder's file, as `probe-<host>-threads.2.arrows` and
/// `probe-<host>.2.report.json` have it; `None` of another file.
fn part_of(name: &str, host: &str) -> Option<u32> {
    let rest = name.strip_prefix("probe-")?.strip_prefix(host)?;
    let rest = rest.strip_suffix(".tmp").unwrap_or(rest);
    let stem = rest
        .strip_suffix(".arrows")
        .or_else(|| rest.strip_suffix(".report.json"))?;
    let number = stem.rsplit_once('.').map(|(_, digits)| digits.parse().ok());
    Some(number.flatten().unwrap_or(1))
}

/// The host as names of files have it.
fn file_host(host: &str) -> String {
    host.replace('/', "_")
}

/// Where it complains: of one process into a file that is shipped, else where we do.
fn complaints(of: Of, raw: &Path, host: &str) -> Stdio {
    if of == Of::Us {
        return Stdio::inherit();
    }
    let log = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits() as i32)
        .open(raw.join(format!("probe-{host}{LOG}")));
    log.map_or_else(|_| Stdio::null(), Stdio::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recorder_of_a_folder_has_a_number_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let next = |host| next_part(folder.path(), host);
        assert_eq!(
            (next("h"), last_written_wall_ns(folder.path(), "h")),
            (1, None)
        );
        let names = [
            ("probe-h.log", 1),
            ("probe-10.0.0.7-threads.arrows", 1),
            ("gc-7.log", 1),
            ("probe-h.report.json.tmp", 2),
            ("probe-h-off-cpu.arrows", 2),
            ("probe-h-threads.2.arrows", 3),
            ("probe-h.11.report.json", 12),
            ("probe-h-series.3.arrows", 12),
        ];
        for (name, expected) in names {
            fs::write(folder.path().join(name), "").unwrap();
            assert_eq!(next("h"), expected, "{name}");
        }
        fs::write(folder.path().join("probe-10.0.0.7.report.json"), "").unwrap();
        assert_eq!(next("10.0.0.7"), 2);
        assert!(last_written_wall_ns(folder.path(), "h").is_some_and(|wall_ns| wall_ns > 0));
    }
}
