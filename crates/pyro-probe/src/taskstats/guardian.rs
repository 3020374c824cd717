//! Who waits for the end of a probe that was killed, and puts back what it had changed.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::setting::{RECORDS, SWITCH, put_back_of_dead};
use crate::sys::{detach, mono_ns, start_ticks, wait, watch_exit};

/// An hour: how long one wait lasts at most.
const LONG_NS: i64 = 3_600_000_000_000;
/// A second: how often it is looked at where nothing tells of its end.
const LOOK_NS: i64 = 1_000_000_000;

/// Starts a guardian of this process: this program again, under a name of its own.
///
/// # Errors
/// If it cannot be started.
pub fn start() -> io::Result<()> {
    Command::new("/proc/self/exe")
        .arg0("pyro-guard")
        .args(["guard", "--pid", &std::process::id().to_string()])
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map(|_| ())
}

/// Waits until process `pid` has ended; what it left changed is then put back.
///
/// # Errors
/// If the setting cannot be written.
pub fn guard(pid: i32) -> io::Result<()> {
    detach();
    let started = start_ticks(pid);
    if let Some(process) = watch_exit(pid) {
        while !wait(mono_ns() + LONG_NS, &[process.as_raw_fd()])[0] {}
    } else {
        while started.is_some() && start_ticks(pid) == started {
            wait(mono_ns() + LOOK_NS, &[]);
        }
    }
    put_back_of_dead(Path::new(SWITCH), Path::new(RECORDS))
}
