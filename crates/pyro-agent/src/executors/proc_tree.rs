//! Processes of a machine, or of a recorded tree.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::executors::discover::Process;

/// Class paths are long; nothing is longer.
const MAX_BYTES: u64 = 2 << 20;

/// Spark gives it to each container of a driver on Kubernetes.
const APP_OF_POD: &[u8] = b"SPARK_APPLICATION_ID=";

/// A `/proc`.
#[derive(Debug, Clone)]
pub struct ProcTree {
    root: PathBuf,
}

impl ProcTree {
    /// The one at this path.
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    /// Numbers of all processes.
    ///
    /// # Errors
    /// If it cannot be listed.
    pub fn pids(&self) -> io::Result<Vec<i32>> {
        let entries = fs::read_dir(&self.root)?.filter_map(Result::ok);
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut pids: Vec<i32> = pids.filter(|&pid| pid > 0).collect();
        pids.sort_unstable();
        Ok(pids)
    }

    /// Reads a process if it is a JVM; `None` if it is not, or gone.
    pub fn jvm(&self, pid: i32) -> Option<Process> {
        // The first thread of a JVM keeps its name; all other processes are done with after 16 bytes.
        if !self.text(pid, "comm")?.starts_with("java") {
            return None;
        }
        let cmdline = self.bytes(pid, "cmdline")?;
        let stat = self.text(pid, "stat");
        let start_ticks = stat.as_deref().and_then(start_ticks);
        Some(Process {
            pid,
            cmdline,
            cgroup: self.text(pid, "cgroup").unwrap_or_default(),
            status: self.text(pid, "status").unwrap_or_default(),
            app_of_pod: self.app_of_pod(pid),
            start_ticks,
        })
    }

    /// Nothing else of the environment, which holds secrets, is kept.
    fn app_of_pod(&self, pid: i32) -> Option<String> {
        let environment = self.bytes(pid, "environ")?;
        let mut words = environment.split(|&byte| byte == 0);
        let app = words.find_map(|word| word.strip_prefix(APP_OF_POD))?;
        Some(String::from_utf8_lossy(app).into_owned()).filter(|app| !app.is_empty())
    }

    fn text(&self, pid: i32, name: &str) -> Option<String> {
        let bytes = self.bytes(pid, name)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn bytes(&self, pid: i32, name: &str) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let file = File::open(self.root.join(pid.to_string()).join(name)).ok()?;
        file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
}

/// The 22nd field of `stat`; the name before may hold anything.
fn start_ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(19)?.parse().ok()
}
