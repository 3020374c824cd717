//! Files of the raw folder that name a process to follow. Several hosts may share the folder, and a
//! number is one of theirs as well as one of ours: it counts where the record in the file says that
//! it is of this host, and the process that has it now was not started after the one that is meant.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::process::Cause;
use crate::parse::ticks_ns;
use crate::sys::{boot_ns, mono_ns, start_ticks, sysconf};

/// Whose a file is, is said in its first records.
const MAX_BYTES: u64 = 64 << 10;

/// Whose process a file names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    Ours,
    AnotherHosts,
    /// It has ended, and another has its number.
    AnothersNow,
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

    /// The process of this host that a file names: once, so that no other that gets its number is
    /// taken for it.
    pub fn process(&mut self, name: &str) -> Option<(i32, Cause)> {
        let plugin = plugin_pid(name).map(|pid| (pid, Cause::Plugin));
        let executor = executor(name);
        let process = plugin.or(executor.map(|(_, pid)| (pid, Cause::Executor)))?;
        let known = self.files.get(name).copied().unwrap_or(Whose::Unsaid);
        if known != Whose::Unsaid {
            return None;
        }
        let whose = match said_in(&self.folder.join(name)) {
            Some(said) if said.host != self.host => Whose::AnotherHosts,
            Some(said) => {
                let ticks = executor.map_or(0, |(ticks, _)| ticks);
                match is_anothers(process.0, ticks, said.mono_ns) {
                    true => Whose::AnothersNow,
                    false => Whose::Ours,
                }
            }
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
            "ended_count": count(Whose::AnothersNow),
            "unsaid_count": count(Whose::Unsaid),
        })
    }
}

/// What a file says of its process.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    host: String,
    /// When the plugin's record was made.
    mono_ns: Option<i64>,
}

/// Whether the process that has a number now is another than the one that is meant: the agent's was
/// started at these `ticks` (0: not known), the plugin's before its record was made. Unix time,
/// which may be set, is not asked.
fn is_anothers(pid: i32, ticks: i64, made_mono_ns: Option<i64>) -> bool {
    let Some(now) = start_ticks(pid) else {
        return false;
    };
    // In this order, and as a machine that sleeps ages only the process: no living one is too young.
    let made_ago_ns = made_mono_ns.map(|made| mono_ns().saturating_sub(made));
    let age_ns = boot_ns() - ticks_ns(now, sysconf(libc::_SC_CLK_TCK));
    ticks > 0 && ticks != now || made_ago_ns.is_some_and(|made_ago_ns| age_ns < made_ago_ns)
}

/// What the first record of a process says.
fn said_in(path: &Path) -> Option<Said> {
    let mut options = fs::File::options();
    // A pipe in the place of a file does not make the probe wait.
    let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW;
    let file = options.read(true).custom_flags(flags).open(path).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    said(&bytes)
}

/// What a record `process` of the plugin says, or a file of the agent. A line that is not whole yet
/// is none.
fn said(bytes: &[u8]) -> Option<Said> {
    let lines = bytes.split(|&byte| byte == b'\n');
    let mut records = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let record = records
        .find(|record| record["k"] == "process" || record["schema"] == "pyrometer/executor/1")?;
    Some(Said {
        host: record["host"].as_str()?.to_owned(),
        mono_ns: record["mono_ns"].as_i64(),
    })
}

/// The pid in `plugin-<role>-<executor>-<pid>.ndjson`.
fn plugin_pid(name: &str) -> Option<i32> {
    let stem = name.strip_prefix("plugin-")?.strip_suffix(".ndjson")?;
    stem.rsplit_once('-')?.1.parse().ok().filter(|&pid| pid > 0)
}

/// Start in clock ticks and pid in `executor-<start>-<pid>.json`, which the agent writes for each
/// executor that it finds; a start that it does not know is 0.
fn executor(name: &str) -> Option<(i64, i32)> {
    let stem = name.strip_prefix("executor-")?.strip_suffix(".json")?;
    let (start, pid) = stem.split_once('-')?;
    let ticks = start.parse::<u64>().ok()?;
    let pid = pid.parse::<i32>().ok().filter(|&pid| pid > 0)?;
    Some((i64::try_from(ticks).ok()?, pid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pids_of_files_of_executors() {
        assert_eq!(executor("executor-90112-4242.json"), Some((90112, 4242)));
        for other in [
            "executor-4242.json",
            "executor--3-4242.json",
            "executor-x-4242.json",
            "executor-1-0.json",
            "executor-1-2-3.json",
            "executor-1--2.json",
            "executor-1-2.json.tmp",
        ] {
            assert_eq!(executor(other), None, "{other}");
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
    fn the_first_record_of_a_process_says_its_host_and_when_it_was_made() {
        let process = br#"{"k":"process","pid":7,"host":"a","mono_ns":5}"#;
        let (error, other) = (br#"{"k":"error"}"#, br#"{"k":"process","host":"b"}"#);
        let lines = |lines: &[&[u8]]| lines.join(&b'\n');
        let of_a = |mono_ns| {
            Some(Said {
                host: "a".to_owned(),
                mono_ns,
            })
        };
        assert_eq!(said(process), of_a(Some(5)));
        assert_eq!(said(&lines(&[error, process, other])), of_a(Some(5)));
        let executor = br#"{"schema":"pyrometer/executor/1","host":"a","found":{}}"#;
        assert_eq!(said(executor), of_a(None));
        for unsaid in [
            b"".as_slice(),
            b"\0\0",
            error,
            &process[..20],
            b"{\"host\":\"a\"}",
        ] {
            assert_eq!(said(unsaid), None);
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
        let expected = json!({"elsewhere_count": 1, "ended_count": 0, "unsaid_count": 0});
        assert_eq!(named.to_json(), expected);
    }

    #[test]
    fn a_process_that_got_the_number_later_is_not_the_one_that_is_meant() {
        let folder = tempfile::tempdir().unwrap();
        let mut named = Named::new(folder.path());
        let pid = std::process::id() as i32;
        let (host, ticks) = (named.host.clone(), start_ticks(pid).unwrap());
        let mut follows = |name: &str, made: Option<i64>| {
            // The clock was set after the start: Unix time says nothing.
            let record =
                json!({"k": "process", "host": host, "mono_ns": made, "jvm_start_wall_ms": 1});
            fs::write(folder.path().join(name), format!("{record}\n")).unwrap();
            named.process(name).is_some()
        };
        let plugin = |executor: i32| format!("plugin-executor-{executor}-{pid}.ndjson");
        let now_ns = mono_ns();
        assert!(follows(&plugin(1), Some(now_ns)));
        assert!(follows(&plugin(2), None));
        assert!(!follows(&plugin(3), Some(now_ns - 24 * 3_600_000_000_000)));
        let agents = |ticks: i64| format!("executor-{ticks}-{pid}.json");
        assert!(follows(&agents(ticks), None));
        assert!(follows(&agents(0), None));
        assert!(!follows(&agents(ticks - 1), None));
        let expected = json!({"elsewhere_count": 0, "ended_count": 2, "unsaid_count": 0});
        assert_eq!(named.to_json(), expected);
    }
}
