//! Files of control groups, v1 and v2, and where they are mounted.

use super::{Emit, name_value_lines, number};

/// Memory limits at or above this are v1's way to say "unlimited".
const UNLIMITED_BYTES: i64 = 1 << 62;

/// Series of `cpu.stat`, v2 and v1.
pub const CPU_STAT: &[(&str, &str, i64)] = &[
    ("usage_usec", "cpu_usage_ns", 1000),
    ("user_usec", "cpu_user_ns", 1000),
    ("system_usec", "cpu_system_ns", 1000),
    ("nr_periods", "cpu_periods_count", 1),
    ("nr_throttled", "cpu_throttled_periods_count", 1),
    ("throttled_usec", "cpu_throttled_ns", 1000),
    ("throttled_time", "cpu_throttled_ns", 1),
];

/// Series of `memory.stat`, v2 and v1 (where the hierarchy's totals count).
pub const MEMORY_STAT: &[(&str, &str, i64)] = &[
    ("anon", "memory_anon_bytes", 1),
    ("total_rss", "memory_anon_bytes", 1),
    ("file", "memory_file_bytes", 1),
    ("total_cache", "memory_file_bytes", 1),
    ("total_swap", "swap_current_bytes", 1),
    ("workingset_refault_anon", "refaulted_anon_pages_count", 1),
    ("workingset_refault_file", "refaulted_file_pages_count", 1),
];

/// Series of `memory.events` (v2) and `memory.oom_control` (v1).
pub const MEMORY_EVENTS: &[(&str, &str, i64)] = &[
    ("max", "memory_limit_hits_count", 1),
    ("high", "memory_high_hits_count", 1),
    ("oom_kill", "oom_kills_count", 1),
];

/// Files that hold one number: (file, series, factor). v2 first.
pub const SINGLE: &[(&str, &str, i64)] = &[
    ("memory.current", "memory_current_bytes", 1),
    ("memory.max", "memory_limit_bytes", 1),
    ("memory.high", "memory_high_bytes", 1),
    ("memory.peak", "memory_peak_bytes", 1),
    ("memory.swap.current", "swap_current_bytes", 1),
    ("memory.swap.max", "swap_limit_bytes", 1),
    ("memory.usage_in_bytes", "memory_current_bytes", 1),
    ("memory.limit_in_bytes", "memory_limit_bytes", 1),
    (
        "memory.memsw.limit_in_bytes",
        "memory_and_swap_limit_bytes",
        1,
    ),
    ("memory.max_usage_in_bytes", "memory_peak_bytes", 1),
    ("memory.failcnt", "memory_limit_hits_count", 1),
    ("cpuacct.usage", "cpu_usage_ns", 1),
    ("cpu.cfs_quota_us", "cpu_quota_ns", 1000),
    ("cpu.cfs_period_us", "cpu_period_ns", 1000),
];

/// Series of the group's block I/O.
pub const IO: [&str; 4] = [
    "io_read_bytes",
    "io_written_bytes",
    "io_read_limit_bytes_per_s",
    "io_write_limit_bytes_per_s",
];
/// Series of the CPUs that the group may use.
pub const CPUS_ALLOWED: &str = "cpus_allowed_count";

/// Parses `cpu.stat`.
pub fn cpu_stat(text: &str, emit: &mut Emit) {
    name_value_lines(text, CPU_STAT, emit);
}

/// Parses `memory.stat`.
pub fn memory_stat(text: &str, emit: &mut Emit) {
    name_value_lines(text, MEMORY_STAT, emit);
}

/// Parses `memory.events` or `memory.oom_control`.
pub fn memory_events(text: &str, emit: &mut Emit) {
    name_value_lines(text, MEMORY_EVENTS, emit);
}

/// Parses v2's `cpu.max`: quota (or `max`) and period in µs.
pub fn cpu_max(text: &str, emit: &mut Emit) {
    let mut words = text.split_ascii_whitespace();
    if let Some(quota) = words.next().and_then(number) {
        emit("cpu_quota_ns", quota.saturating_mul(1000));
    }
    if let Some(period) = words.next().and_then(number) {
        emit("cpu_period_ns", period.saturating_mul(1000));
    }
}

/// Parses a file that holds one number; "max", -1 and v1's huge limits say "unlimited" and emit nothing.
pub fn single(file: &str, text: &str, emit: &mut Emit) {
    let Some((series, factor)) = super::named(SINGLE, file) else {
        return;
    };
    if let Some(value) = number(text.trim()).filter(|value| (0..UNLIMITED_BYTES).contains(value)) {
        emit(series, value.saturating_mul(factor));
    }
}

/// Parses `cpuset.cpus.effective` (v1: `cpuset.effective_cpus`): ranges of CPUs.
pub fn cpus_allowed(text: &str, emit: &mut Emit) {
    let mut count = Some(0);
    for range in text.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        count = match (count, number(first), number(last)) {
            (Some(count), Some(first), Some(last)) if first <= last => {
                Some(last.saturating_sub(first).saturating_add(count + 1))
            }
            _ => None,
        };
    }
    if let Some(count) = count {
        emit(CPUS_ALLOWED, count);
    }
}

/// Parses v2's `io.stat`: bytes of all devices together.
pub fn io_stat(text: &str, emit: &mut Emit) {
    for (key, series) in [("rbytes=", IO[0]), ("wbytes=", IO[1])] {
        let values = text.split_ascii_whitespace();
        let values = values.filter_map(|word| number(word.strip_prefix(key)?));
        emit(series, values.fold(0, i64::saturating_add));
    }
}

/// Parses v2's `io.max`: the lowest limit of any device; "max" is none.
pub fn io_max(text: &str, emit: &mut Emit) {
    for (key, series) in [("rbps=", IO[2]), ("wbps=", IO[3])] {
        let values = text.split_ascii_whitespace();
        if let Some(lowest) = values
            .filter_map(|word| number(word.strip_prefix(key)?))
            .min()
        {
            emit(series, lowest);
        }
    }
}

/// What only v1 has.
pub mod v1 {
    use super::super::{Emit, number, ticks_ns};
    use super::{IO, Mount};

    /// File that counts the CPU time of every thread below the root of `cpuacct`.
    pub fn root_usage(mounts: &[Mount]) -> Option<String> {
        mounts
            .iter()
            .find(|mount| mount.root == "/" && mount.controllers.iter().any(|has| has == "cpuacct"))
            .map(|mount| format!("{}/cpuacct.usage", mount.point))
    }

    /// Parses `blkio.throttle.io_service_bytes_recursive`: bytes of all devices together.
    pub fn io_service_bytes(text: &str, emit: &mut Emit) {
        for (word, series) in [("Read", IO[0]), ("Write", IO[1])] {
            let values = text.lines().filter_map(|line| {
                let mut words = line.split_ascii_whitespace().skip(1);
                (words.next() == Some(word)).then(|| words.next().and_then(number))?
            });
            emit(series, values.fold(0, i64::saturating_add));
        }
    }

    /// Parses `blkio.throttle.read_bps_device` or `write_bps_device`: the lowest limit of any device.
    pub fn bps_device(file: &str, text: &str, emit: &mut Emit) {
        let limits = text.lines();
        let limits = limits.filter_map(|line| line.split_ascii_whitespace().nth(1));
        if let Some(lowest) = limits.filter_map(number).min() {
            emit(
                if file.contains(".read_") {
                    IO[2]
                } else {
                    IO[3]
                },
                lowest,
            );
        }
    }

    /// Parses `cpuacct.stat`: clock ticks.
    pub fn cpuacct_stat(text: &str, ticks_per_second: i64, emit: &mut Emit) {
        for line in text.lines() {
            let series = match line.split_ascii_whitespace().next() {
                Some("user") => "cpu_user_ns",
                Some("system") => "cpu_system_ns",
                _ => continue,
            };
            if let Some(ticks) = line.split_ascii_whitespace().nth(1).and_then(number) {
                emit(series, ticks_ns(ticks, ticks_per_second));
            }
        }
    }
}

/// A mounted hierarchy.
#[derive(Debug, PartialEq, Eq)]
pub struct Mount {
    /// Group shown at the mount point.
    pub root: String,
    /// Mount point.
    pub point: String,
    /// Controllers and other super block options; empty for v2.
    pub controllers: Vec<String>,
}

/// Control group mounts in `/proc/self/mountinfo`.
pub fn mounts(text: &str) -> Vec<Mount> {
    text.lines()
        .filter_map(|line| {
            let (head, tail) = line.split_once(" - ")?;
            let mut head = head.split(' ').skip(3);
            let (root, point) = (head.next()?.to_owned(), head.next()?.to_owned());
            let mut tail = tail.split(' ');
            let controllers = match tail.next()? {
                "cgroup2" => Vec::new(),
                "cgroup" => tail.nth(1)?.split(',').map(str::to_owned).collect(),
                _ => return None,
            };
            Some(Mount {
                root,
                point,
                controllers,
            })
        })
        .collect()
}

/// Folder of a group below a mount; `None` for a group outside the mount.
pub fn folder(mount: &Mount, group: &str) -> Option<String> {
    let below = group.strip_prefix(mount.root.trim_end_matches('/'))?;
    let below = below.trim_matches('/');
    let outside = below.split('/').any(|part| part == "..");
    (!outside).then(|| {
        format!("{}/{below}", mount.point)
            .trim_end_matches('/')
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::tests_support::collect;

    #[test]
    fn cpu_of_both_versions() {
        let v2 = "usage_usec 5\nuser_usec 3\nsystem_usec 2\nnr_periods 10\nnr_throttled 4\nthrottled_usec 7\n";
        let got = collect(|emit| cpu_stat(v2, emit));
        assert_eq!(
            (
                got["cpu_usage_ns"],
                got["cpu_throttled_ns"],
                got["cpu_throttled_periods_count"]
            ),
            (5000, 7000, 4)
        );
        let got =
            collect(|emit| cpu_stat("nr_periods 1\nnr_throttled 1\nthrottled_time 77\n", emit));
        assert_eq!(got["cpu_throttled_ns"], 77);
        assert_eq!(
            collect(|emit| v1::cpuacct_stat("user 3\nsystem 4\n", 100, emit))["cpu_system_ns"],
            40_000_000
        );
        assert_eq!(
            collect(|emit| cpu_max("200000 100000\n", emit))["cpu_quota_ns"],
            200_000_000
        );
        assert!(!collect(|emit| cpu_max("max 100000\n", emit)).contains_key("cpu_quota_ns"));
    }

    #[test]
    fn unlimited_has_no_value() {
        for (file, text) in [
            ("memory.max", "max\n"),
            ("memory.limit_in_bytes", "9223372036854771712\n"),
            ("cpu.cfs_quota_us", "-1\n"),
        ] {
            assert!(
                collect(|emit| single(file, text, emit)).is_empty(),
                "{file}"
            );
        }
        assert_eq!(
            collect(|emit| single("memory.max", "1048576\n", emit))["memory_limit_bytes"],
            1 << 20
        );
    }

    #[test]
    fn memory_of_both_versions() {
        let got = collect(|emit| memory_stat("anon 1\nfile 2\nkernel 3\n", emit));
        assert_eq!((got["memory_anon_bytes"], got["memory_file_bytes"]), (1, 2));
        let got = collect(|emit| {
            memory_stat(
                "cache 9\nrss 9\ntotal_cache 2\ntotal_rss 1\ntotal_swap 4\n",
                emit,
            )
        });
        assert_eq!(
            (
                got["memory_anon_bytes"],
                got["memory_file_bytes"],
                got["swap_current_bytes"]
            ),
            (1, 2, 4)
        );
        assert_eq!(
            collect(|emit| memory_events("low 0\nmax 3\noom 1\noom_kill 2\n", emit))["oom_kills_count"],
            2
        );
    }

    #[test]
    fn io_of_both_versions() {
        let v2 =
            "254:0 rbytes=100 wbytes=30 rios=1 wios=2 dbytes=0 dios=0\n8:0 rbytes=1 wbytes=0\n";
        let got = collect(|emit| io_stat(v2, emit));
        assert_eq!((got["io_read_bytes"], got["io_written_bytes"]), (101, 30));
        let max = "254:0 rbps=20971520 wbps=max riops=max wiops=max\n8:0 rbps=1048576 wbps=max\n";
        let got = collect(|emit| io_max(max, emit));
        assert_eq!((got["io_read_limit_bytes_per_s"], got.len()), (1 << 20, 1));
        let v1 = "254:0 Read 102431137792\n254:0 Write 5\n254:0 Sync 9\n8:0 Read 1\nTotal 102431137798\n";
        let got = collect(|emit| v1::io_service_bytes(v1, emit));
        assert_eq!(
            (got["io_read_bytes"], got["io_written_bytes"]),
            (102431137793, 5)
        );
        let got = collect(|emit| {
            v1::bps_device("blkio.throttle.write_bps_device", "254:0 4096\n", emit);
        });
        assert_eq!(got["io_write_limit_bytes_per_s"], 4096);
        assert!(
            collect(|emit| v1::bps_device("blkio.throttle.read_bps_device", "", emit)).is_empty()
        );
    }

    #[test]
    fn cpus_and_the_limits_of_swap() {
        let count = |text: &str| {
            collect(|emit| cpus_allowed(text, emit))
                .get(CPUS_ALLOWED)
                .copied()
        };
        assert_eq!(count("0-1\n"), Some(2));
        assert_eq!(count("0-3,8,10-11\n"), Some(7));
        assert_eq!(
            (count("\n"), count("1-0"), count("x-y")),
            (None, None, None)
        );
        for (file, series) in [
            ("memory.high", "memory_high_bytes"),
            ("memory.swap.max", "swap_limit_bytes"),
            ("memory.memsw.limit_in_bytes", "memory_and_swap_limit_bytes"),
        ] {
            assert_eq!(collect(|emit| single(file, "4096\n", emit))[series], 4096);
        }
    }

    #[test]
    fn mounts_and_folders() {
        let text = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n\
            38 31 0:38 /pod /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let found = mounts(text);
        assert_eq!(found.len(), 2);
        assert!(found[0].controllers.contains(&"memory".to_owned()));
        assert_eq!(
            folder(&found[0], "/a/b"),
            Some("/sys/fs/cgroup/memory/a/b".to_owned())
        );
        assert_eq!(
            folder(&found[0], "/"),
            Some("/sys/fs/cgroup/memory".to_owned())
        );
        assert_eq!(
            folder(&found[1], "/pod/x"),
            Some("/sys/fs/cgroup/unified/x".to_owned())
        );
        assert_eq!(folder(&found[1], "/../x"), None);
        assert_eq!(v1::root_usage(&found), None);
    }

    #[test]
    fn all_threads_are_those_of_the_whole_hierarchy_alone() {
        let mounted = |root: &str| {
            let line = format!("35 31 0:32 {root} /acct rw - cgroup cgroup rw,cpu,cpuacct\n");
            v1::root_usage(&mounts(&line))
        };
        assert_eq!(mounted("/"), Some("/acct/cpuacct.usage".to_owned()));
        assert_eq!(mounted("/docker/1f"), None);
    }
}
