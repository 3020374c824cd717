//! Files of the raw folder that name a process to follow. Several hosts may share the folder, and a number is one of
//! theirs as well as one of ours: it counts where the record in the file says that it is of this host.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::process::Cause;

/// Whose a file is, is said in its first records.
const MAX_BYTES: u64 = 64 << 10;

/// Whose process a file names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    Ours,
    AnotherHosts,
    /// Nothing says so yet.
    Unsaid,
}

/// The files that were met, and whose they are.
#[derive(Debug)]
pub struct Named {
    folder: PathBuf,
    /// As the kernel has it, which is what those who write the files ask.
    host: String,
    files: BTreeMap<String, Whose>,
}

impl Named {
    /// No file of the folder was met yet.
    pub fn new(folder: &Path) -> Self {
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Self {
            folder: folder.to_owned(),
            host: host.trim().to_owned(),
            files: BTreeMap::new(),
        }
    }

    /// The process of this host that a file names: once, so that no other that gets its number is taken for it.
    pub fn process(&mut self, name: &str) -> Option<(i32, Cause)> {
        let plugin = plugin_pid(name).map(|pid| (pid, Cause::Plugin));
        let process = plugin.or(executor_pid(name).map(|pid| (pid, Cause::Executor)))?;
        let known = self.files.get(name).copied().unwrap_or(Whose::Unsaid);
        if known != Whose::Unsaid {
            return None;
        }
        let whose = match host_in(&self.folder.join(name)) {
            Some(host) if host == self.host => Whose::Ours,
            Some(_) => Whose::AnotherHosts,
            None => Whose::Unsaid,
        };
        self.files.insert(name.to_owned(), whose);
        (whose == Whose::Ours).then_some(process)
    }

    /// Files whose processes are not followed for what they say, or do not.
    pub fn to_json(&self) -> Value {
        let count = |of| self.files.values().filter(|&&whose| whose == of).count();
        json!({
            "elsewhere_count": count(Whose::AnotherHosts),
            "unsaid_count": count(Whose::Unsaid),
        })
    }
}

/// The host in the first record of a process.
fn host_in(path: &Path) -> Option<String> {
    let mut options = fs::File::options();
    // A pipe in the place of a file does not make the probe wait.
    let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW;
    let file = options.read(true).custom_flags(flags).open(path).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    host_of(&bytes)
}

/// The host in a record `process` of the plugin, or in a file of the agent. A line that is not whole yet is none.
fn host_of(bytes: &[u8]) -> Option<String> {
    let lines = bytes.split(|&byte| byte == b'\n');
    let mut records = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let record = records
        .find(|record| record["k"] == "process" || record["schema"] == "pyrometer/executor/1")?;
    record["host"].as_str().map(str::to_owned)
}

/// The pid in `plugin-<role>-<executor>-<pid>.ndjson`.
fn plugin_pid(name: &str) -> Option<i32> {
    let stem = name.strip_prefix("plugin-")?.strip_suffix(".ndjson")?;
    stem.rsplit_once('-')?.1.parse().ok().filter(|&pid| pid > 0)
}

/// The pid in `executor-<start>-<pid>.json`, which the agent writes for each executor that it finds.
fn executor_pid(name: &str) -> Option<i32> {
    let stem = name.strip_prefix("executor-")?.strip_suffix(".json")?;
    let (start, pid) = stem.split_once('-')?;
    start.parse::<u64>().ok()?;
    pid.parse().ok().filter(|&pid| pid > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pids_of_files_of_executors() {
        assert_eq!(executor_pid("executor-90112-4242.json"), Some(4242));
        for other in [
            "executor-4242.json",
            "executor-x-4242.json",
            "executor-1-0.json",
            "executor-1-2-3.json",
            "executor-1--2.json",
            "executor-1-2.json.tmp",
        ] {
            assert_eq!(executor_pid(other), None, "{other}");
        }
    }

    #[test]
    fn pids_of_plugin_files() {
        assert_eq!(plugin_pid("plugin-executor-1-4242.ndjson"), Some(4242));
        assert_eq!(plugin_pid("plugin-driver-driver-7.ndjson"), Some(7));
        for other in [
            "plugin-executor-1-.ndjson",
            "plugin-x.ndjson",
            "gc-12.log",
            "plugin-a--1x.ndjson",
            "plugin-a-0.ndjson",
        ] {
            assert_eq!(plugin_pid(other), None, "{other}");
        }
    }

    #[test]
    fn the_first_record_of_a_process_says_the_host() {
        let process = br#"{"k":"process","pid":7,"host":"a"}"#;
        let (error, other) = (br#"{"k":"error"}"#, br#"{"k":"process","host":"b"}"#);
        let lines = |lines: &[&[u8]]| lines.join(&b'\n');
        assert_eq!(host_of(process).as_deref(), Some("a"));
        assert_eq!(
            host_of(&lines(&[error, process, other])).as_deref(),
            Some("a")
        );
        let executor = br#"{"schema":"pyrometer/executor/1","host":"a","found":{}}"#;
        assert_eq!(host_of(executor).as_deref(), Some("a"));
        for unsaid in [
            b"".as_slice(),
            b"\0\0",
            error,
            &process[..20],
            b"{\"host\":\"a\"}",
        ] {
            assert_eq!(host_of(unsaid), None);
        }
    }

    #[test]
    fn numbers_of_other_hosts_are_not_ours() {
        let folder = tempfile::tempdir().unwrap();
        let mut named = Named::new(folder.path());
        let put = |name: &str, host: &str| {
            let text = format!("{{\"k\":\"process\",\"host\":\"{host}\"}}\n");
            fs::write(folder.path().join(name), text).unwrap();
        };
        let (here, there) = ("plugin-executor-1-7.ndjson", "plugin-executor-2-8.ndjson");
        fs::write(folder.path().join(here), "").unwrap();
        assert_eq!(named.process(here), None);
        assert_eq!(named.to_json()["unsaid_count"], 1);
        let own = named.host.clone();
        put(here, &own);
        put(there, &format!("not-{own}"));
        assert_eq!(named.process(here), Some((7, Cause::Plugin)));
        assert_eq!(named.process(here), None, "once");
        assert_eq!(named.process(there), None);
        let expected = json!({"elsewhere_count": 1, "unsaid_count": 0});
        assert_eq!(named.to_json(), expected);
    }
}
