//! A life of its own: whoever starts us may end, and what ends that and its session does not reach us.

use std::ffi::OsString;
use std::fs;
use std::process::{Command, Stdio};

/// What the second of two processes is told by.
const AGAIN: &str = "PYRO_AGENT_DETACHED";

/// The first to be killed where memory is short: whoever started us is the one that works.
const FIRST: &str = "1000";

/// Starts this program once more, as what is to be nobody's child; true where this is that one already.
///
/// # Errors
/// If it cannot be started.
pub fn detached() -> Result<bool, String> {
    if std::env::var_os(AGAIN).is_some() {
        // It fails where we lead one already.
        let _ = rustix::process::setsid();
        let _ = fs::write("/proc/self/oom_score_adj", FIRST);
        return Ok(true);
    }
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let child = Command::new(&own)
        .args(words)
        .env(AGAIN, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn();
    let started = child.map_err(|error| format!("{}: {error}", own.display()));
    started.map(|_| false)
}
