//! Series of control groups, and the files that they are read from.

/// Memory limits at or above this are v1's way to say "unlimited".
pub const UNLIMITED_BYTES: i64 = 1 << 62;

/// CPU time allowed in a period; there is none where it is unlimited.
pub const CPU_QUOTA: &str = "cpu_quota_ns";

/// Files of the quota, v2 and v1.
pub const CPU_LIMITS: [&str; 3] = ["cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us"];

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
    ("workingset_activate_anon", "activated_anon_pages_count", 1),
    ("workingset_activate_file", "activated_file_pages_count", 1),
    ("workingset_restore_anon", "restored_anon_pages_count", 1),
    ("workingset_restore_file", "restored_file_pages_count", 1),
    ("workingset_nodereclaim", "shadow_nodes_reclaimed_count", 1),
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
    ("cpu.cfs_quota_us", CPU_QUOTA, 1000),
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
