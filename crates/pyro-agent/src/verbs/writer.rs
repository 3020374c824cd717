//! The process that writes a raw folder.

use std::fs;
use std::path::Path;

/// A process, and not another that gets its number.
#[derive(Debug, Clone)]
pub struct Writer {
    pid: i32,
    started: Option<String>,
}

impl Writer {
    /// The process that has this number now.
    pub fn new(pid: i32) -> Self {
        let started = started(pid);
        Self { pid, started }
    }

    /// False once it has ended.
    pub fn is_there(&self) -> bool {
        self.started.is_some() && started(self.pid) == self.started
    }
}

/// When a process was started; `None` if it is gone, or a zombie, which writes no more.
fn started(pid: i32) -> Option<String> {
    let path = format!("/proc/{pid}/stat");
    let stat = fs::read(Path::new(&path)).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let is_zombie = matches!(fields.next()?, "Z" | "X");
    (!is_zombie).then(|| fields.nth(18).map(str::to_owned))?
}
