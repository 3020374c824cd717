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
    let got = collect(|emit| cpu_stat("nr_periods 1\nnr_throttled 1\nthrottled_time 77\n", emit));
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
    let v2 = "254:0 rbytes=100 wbytes=30 rios=1 wios=2 dbytes=0 dios=0\n8:0 rbytes=1 wbytes=0\n";
    let got = collect(|emit| io_stat(v2, emit));
    assert_eq!((got["io_read_bytes"], got["io_written_bytes"]), (101, 30));
    let max = "254:0 rbps=20971520 wbps=max riops=max wiops=max\n8:0 rbps=1048576 wbps=max\n";
    let got = collect(|emit| io_max(max, emit));
    assert_eq!((got["io_read_limit_bytes_per_s"], got.len()), (1 << 20, 1));
    let v1 =
        "254:0 Read 102431137792\n254:0 Write 5\n254:0 Sync 9\n8:0 Read 1\nTotal 102431137798\n";
    let got = collect(|emit| v1::io_service_bytes(v1, emit));
    assert_eq!(
        (got["io_read_bytes"], got["io_written_bytes"]),
        (102431137793, 5)
    );
    let got = collect(|emit| {
        v1::bps_device("blkio.throttle.write_bps_device", "254:0 4096\n", emit);
    });
    assert_eq!(got["io_write_limit_bytes_per_s"], 4096);
    assert!(collect(|emit| v1::bps_device("blkio.throttle.read_bps_device", "", emit)).is_empty());
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

#[test]
fn groups_above_that_rule_cpus() {
    let found = |groups: &str, mounted: &str| {
        let groups = crate::parse::process::cgroups(groups);
        let found = ruling_cpus(&mounts(mounted), &groups).into_iter();
        found
            .map(|(path, folder)| format!("{path} {folder}"))
            .collect::<Vec<_>>()
    };
    let first = "31 20 0:27 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
        32 20 0:28 / /cg/two rw - cgroup2 cgroup2 rw\n";
    assert_eq!(
        found("5:cpu,cpuacct:/a/b\n4:memory:/y\n0::/z\n", first),
        ["/a/b /cg/cpu/a/b", "/a /cg/cpu/a", "/ /cg/cpu"]
    );
    let second = "30 20 0:26 /pod /cg rw - cgroup2 cgroup2 rw\n";
    assert_eq!(found("0::/pod/x\n", second), ["/pod/x /cg/x", "/pod /cg"]);
    assert!(found("0::/other\n", second).is_empty());
    assert!(found("4:memory:/y\n", second).is_empty());
}
