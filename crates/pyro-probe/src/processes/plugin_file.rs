//! Names of the plugin's files.

/// The pid in `plugin-<role>-<executor>-<pid>.ndjson`.
pub fn plugin_pid(name: &str) -> Option<i32> {
    let stem = name.strip_prefix("plugin-")?.strip_suffix(".ndjson")?;
    stem.rsplit_once('-')?.1.parse().ok().filter(|&pid| pid > 0)
}

#[cfg(test)]
mod tests {
    use super::plugin_pid;

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
