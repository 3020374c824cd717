//! How much memory measurements may take.

use std::fs;
use std::path::{Path, PathBuf};

use crate::parse::{cgroup, host, process};

/// Memory that is free on this machine, or in a control group that holds us if that is less; `None`
/// where nothing says so.
pub fn free_bytes() -> Option<u64> {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let groups = folders(&text("/proc/self/cgroup"), &text("/proc/self/mountinfo"));
    let in_groups = groups.iter().filter_map(|folder| free_in(folder));
    in_groups.chain(available(&text("/proc/meminfo"))).min()
}

/// Most threads, up to `all`, that take no more than half of what is free.
pub fn threads_in(
    free_bytes: Option<u64>,
    all: usize,
    needed: impl Fn(usize) -> usize,
) -> Option<usize> {
    let fits = |threads: usize| free_bytes.is_none_or(|free| needed(threads) as u64 <= free / 2);
    (1..=all).rev().find(|&threads| fits(threads))
}

/// `MemAvailable` of `/proc/meminfo`.
fn available(meminfo: &str) -> Option<u64> {
    let mut found = None;
    host::meminfo(meminfo, &mut |name, value| {
        if name == "mem_available_bytes" {
            found = u64::try_from(value).ok();
        }
    });
    found
}

/// Folders of our control groups that may limit memory, with those above them.
fn folders(groups: &str, mountinfo: &str) -> Vec<PathBuf> {
    let mounts = cgroup::mounts(mountinfo);
    let mut found = Vec::new();
    for (controllers, group) in process::cgroups(groups) {
        // Version 2 has one hierarchy, without names of controllers.
        let ours = |mount: &&cgroup::Mount| match controllers {
            "" => mount.controllers.is_empty(),
            _ => mount.controllers.iter().any(|name| name == "memory"),
        };
        let limits = controllers.is_empty() || controllers.split(',').any(|name| name == "memory");
        if limits
            && let Some(mount) = mounts.iter().find(ours)
            && let Some(folder) = cgroup::folder(mount, group)
        {
            let above = Path::new(&folder).ancestors();
            let above = above.take_while(|folder| folder.starts_with(&mount.point));
            found.extend(above.map(Path::to_owned));
        }
    }
    found
}

/// What a group may still take: pages of files that were not used lately make room for it. `None`
/// without a limit.
fn free_in(folder: &Path) -> Option<u64> {
    let text = |name: &str| fs::read_to_string(folder.join(name)).ok();
    let number = |text: String| text.trim().parse::<u64>().ok();
    let limit = text("memory.max").or_else(|| text("memory.limit_in_bytes"));
    let used = text("memory.current").or_else(|| text("memory.usage_in_bytes"));
    let (limit, used) = (number(limit?)?, number(used?)?);
    let stat = text("memory.stat").unwrap_or_default();
    let row = |name: &str| {
        let rows = stat.lines().filter_map(|line| line.split_once(' '));
        let mut found = rows.filter(|(row, _)| *row == name);
        found
            .next()
            .and_then(|(_, value)| value.parse::<u64>().ok())
    };
    // What is used holds what groups below use: so does the second in version 2, in version 1 the
    // first alone.
    let files = row("total_inactive_file").or_else(|| row("inactive_file"));
    Some(limit.saturating_sub(used.saturating_sub(files.unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_threads_where_memory_is_short_and_none_where_it_is_too_short() {
        let threads = |free| threads_in(free, 8, |threads| 300 * threads);
        assert_eq!(threads(None), Some(8));
        assert_eq!(threads(Some(4800)), Some(8));
        assert_eq!(threads(Some(4799)), Some(7));
        assert_eq!(threads(Some(600)), Some(1));
        assert_eq!(threads(Some(599)), None);
    }

    #[test]
    fn a_group_has_what_its_limit_leaves_and_its_inactive_files() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        assert_eq!(free_in(folder.path()), None);
        put("memory.max", "max\n");
        put("memory.current", "600\n");
        assert_eq!(free_in(folder.path()), None);
        put("memory.max", "1000\n");
        assert_eq!(free_in(folder.path()), Some(400));
        put(
            "memory.stat",
            "anon 200\ninactive_file 100\nactive_file 50\n",
        );
        assert_eq!(free_in(folder.path()), Some(500));
        // Version 1, where groups below have files.
        put(
            "memory.stat",
            "cache 100\ninactive_file 100\ntotal_cache 300\ntotal_inactive_file 250\n",
        );
        assert_eq!(free_in(folder.path()), Some(650));
    }

    #[test]
    fn groups_that_limit_memory_and_those_above_them() {
        let second = "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let paths = |groups: &str, mounts: &str| -> Vec<String> {
            let found = folders(groups, mounts).into_iter();
            found.map(|path| path.display().to_string()).collect()
        };
        assert_eq!(
            paths("0::/a/b\n", second),
            ["/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup"]
        );
        let first = "31 20 0:27 / /cg/cpu rw - cgroup cgroup rw,cpu\n\
            32 20 0:28 / /cg/memory rw - cgroup cgroup rw,memory\n";
        let found = paths("5:cpu:/x\n4:memory:/y\n", first);
        assert_eq!(found, ["/cg/memory/y", "/cg/memory"]);
    }

    #[test]
    fn what_is_available_on_the_machine() {
        let text = "MemTotal: 9 kB\nMemFree: 1 kB\nMemAvailable:  5 kB\n";
        assert_eq!(available(text), Some(5 << 10));
        assert_eq!(available(""), None);
    }
}
