//! Files that name a process to follow.

/// The pid in `plugin-<role>-<executor>-<pid>.ndjson`.
pub fn plugin_pid(name: &str) -> Option<i32> {
    let stem = name.strip_prefix("plugin-")?.strip_suffix(".ndjson")?;
    stem.rsplit_once('-')?.1.parse().ok().filter(|&pid| pid > 0)
}

/// The pid in `executor-<start>-<pid>.json`, which the agent writes for each executor that it finds.
pub fn executor_pid(name: &str) -> Option<i32> {
    let stem = name.strip_prefix("executor-")?.strip_suffix(".json")?;
    let (start, pid) = stem.split_once('-')?;
    start.parse::<u64>().ok()?;
    pid.parse().ok().filter(|&pid| pid > 0)
}

#[cfg(test)]
mod tests {
    use super::{executor_pid, plugin_pid};

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
}
