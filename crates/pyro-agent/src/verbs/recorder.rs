//! The probe, as a child.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use serde_json::{Value, json};

use crate::args::Pace;

/// The best tier for one process: what it costs the process itself is nothing.
const TIER_OF_ONE: &str = "T1";

/// Time for its last rows; then it is killed.
const LAST_ROWS: Duration = Duration::from_secs(5);

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

/// The probe: it ends with us.
pub struct Recorder {
    child: Option<Child>,
    state: Value,
}

impl Recorder {
    /// Starts it; what went wrong is in its state.
    pub fn start(program: &Path, of: Of, pace: &Pace, host: &str, raw: &Path) -> Self {
        let own = std::process::id().to_string();
        let host = host.replace('/', "_");
        let mut command = Command::new(program);
        let root = match of {
            Of::Us => own.clone(),
            Of::Process(pid) => pid.to_string(),
        };
        command.args(["record", "--root-pid", &root, "--keeper-pid", &own]);
        if of != Of::Us {
            command.args(["--tier", TIER_OF_ONE]);
        }
        let child = command
            .args(["--hz", &pace.hz.to_string()])
            .args(["--budget", &format!("{}%", pace.budget)])
            .args(["--thread-counters", &pace.thread_counters])
            .args(["--host", &host])
            .arg("--raw-dir")
            .arg(raw)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(complaints(of, raw, &host))
            .spawn();
        match child {
            Ok(child) => Self {
                state: json!({"state": "running", "pid": child.id(), "reason": null}),
                child: Some(child),
            },
            Err(error) => Self {
                child: None,
                state: json!({
                    "state": "missing",
                    "pid": null,
                    "reason": format!("{}: {error}", program.display()),
                }),
            },
        }
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
