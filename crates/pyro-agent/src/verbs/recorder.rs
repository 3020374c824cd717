//! The probe, as a child.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::args::Pace;

/// The best tier for one process: what it costs the process itself is nothing.
const TIER_OF_ONE: &str = "T1";

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
            .args(["--host", &host.replace('/', "_")])
            .arg("--raw-dir")
            .arg(raw)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
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

    /// Asks it to end, and waits until its last rows are written.
    pub fn stop(&mut self) {
        let Some(child) = &mut self.child else {
            return;
        };
        let pid = rustix::process::Pid::from_child(child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = child.wait();
        self.state();
    }
}
