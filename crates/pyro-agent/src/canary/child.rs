//! The probe that measures a canary, as a child in a process group of its own.

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, prlimit};

use crate::umask;

/// A canary prints a few hundred bytes.
const MAX_OUTPUT_BYTES: u64 = 64 << 10;

/// CPU time after which the kernel ends it, s, also where we are gone or held up ourselves: a canary takes two.
const MAX_CPU_S: u64 = 60;

/// Where memory is short, it goes before everything else on the host.
const FIRST: &str = "1000";

/// A canary that is being measured.
#[derive(Debug)]
pub struct Measuring {
    child: Child,
    output: ChildStdout,
    group: Pid,
}

impl Measuring {
    /// Starts it.
    ///
    /// # Errors
    /// What the system says.
    pub fn start(program: &Path) -> io::Result<Self> {
        let mut command = Command::new(program);
        command
            .args(["canary", "--json"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0);
        let mut child = umask::start(&mut command)?;
        let group = Pid::from_child(&child);
        let most = Rlimit {
            current: Some(MAX_CPU_S),
            maximum: Some(MAX_CPU_S),
        };
        let _ = prlimit(Some(group), Resource::Cpu, most);
        let _ = fs::write(format!("/proc/{}/oom_score_adj", child.id()), FIRST);
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        // What it leaves behind may hold the pipe: nobody waits for its end.
        fcntl_setfl(&output, fcntl_getfl(&output)? | OFlags::NONBLOCK)?;
        Ok(Self {
            child,
            output,
            group,
        })
    }

    /// How it ended; `None` while it lives.
    ///
    /// # Errors
    /// What the system says.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// What it printed.
    pub fn printed(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // That there is no more for now is an end, too.
        let _ = (&mut self.output)
            .take(MAX_OUTPUT_BYTES)
            .read_to_end(&mut bytes);
        bytes
    }

    /// Kills it, with what it started.
    pub fn kill(&mut self) {
        let _ = kill_process_group(self.group, Signal::KILL);
    }
}
