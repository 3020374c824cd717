use super::*;
use crate::parse::tests_support::collect;

#[test]
fn stat_of_host_and_cpus() {
    let text = "cpu  10 1 20 300 4 0 5 6 0 0\ncpu0 5 1 10 150 4 0 5 6 0 0\ncpu1 5 0 10 150\nintr 99 0 0\nctxt 7\n\
        btime 1\nprocesses 42\nprocs_running 3\nprocs_blocked 1\nsoftirq 8 1\ncpuX 1\n";
    let mut got = Vec::new();
    stat(text, 100, &mut |cpu, name, value| {
        got.push((cpu, name, value))
    });
    assert!(got.contains(&(None, "cpu_user_ns", 100_000_000)));
    assert!(got.contains(&(None, "cpu_steal_ns", 60_000_000)));
    assert!(got.contains(&(Some(0), "cpu_iowait_ns", 40_000_000)));
    assert_eq!(got.iter().filter(|row| row.0 == Some(1)).count(), 4);
    for expected in [
        ("forks_count", 42),
        ("interrupts_count", 99),
        ("soft_interrupts_count", 8),
    ] {
        assert!(got.contains(&(None, expected.0, expected.1)));
    }
    assert_eq!(got.len(), 10 + 10 + 4 + 6);
}

#[test]
fn times_of_threads_that_left_their_cpus() {
    let text = "version 15\ntimestamp 4294937\n\
        cpu0 0 0 0 0 0 0 1500000000 42 7\ndomain0 3 1 2 3 4 5 6 7 8\n\
        cpu1 0 0 0 0 0 0 250 1 1\ndomain0 3 9 9 9 9 9 9 9 9\n";
    assert_eq!(switched_ns(text), Some(1_500_000_250));
    for text in [
        "",
        "version 15\n",
        "cpu0 0 0 0\n",
        "cpu0 1 2 3 4 5 6 7\ncpu1 1 2 3 4 5 6 x\n",
    ] {
        assert_eq!(switched_ns(text), None, "{text}");
    }
    let much = format!("cpu0 0 0 0 0 0 0 {}\ncpu1 0 0 0 0 0 0 1\n", i64::MAX);
    assert_eq!(switched_ns(&much), None);
}

#[test]
fn meminfo_in_bytes() {
    let got = collect(|emit| {
        meminfo(
            "MemTotal: 24682416 kB\nActive(file):   8 kB\nHugePages_Total: 0\n",
            emit,
        )
    });
    assert_eq!(
        (
            got["mem_total_bytes"],
            got["mem_active_file_bytes"],
            got.len()
        ),
        (24682416 << 10, 8 << 10, 2)
    );
}

#[test]
fn vmstat_in_bytes_and_sums() {
    let text = "pswpin 2\nallocstall_dma 1\nallocstall_normal 2\nworkingset_refault_file 9\npgpgin 3\nunknown 5\n";
    let got = collect(|emit| vmstat(text, 4096, emit));
    assert_eq!(
        (
            got["swapped_in_bytes"],
            got["alloc_stalls_count"],
            got["paged_in_bytes"]
        ),
        (8192, 3, 3072)
    );
    assert_eq!((got["refaulted_file_pages_count"], got.len()), (9, 4));
}

#[test]
fn working_set_of_old_and_new_kernels() {
    let old = "workingset_refault 9\nworkingset_activate 5\nworkingset_restore 2\nworkingset_nodereclaim 1\n";
    let new = "workingset_nodes 70\nworkingset_refault_anon 4\nworkingset_refault_file 9\nworkingset_activate_anon 3\nworkingset_activate_file 5\nworkingset_restore_anon 1\nworkingset_restore_file 2\nworkingset_nodereclaim 1\n";
    let of_files = [
        ("refaulted_file_pages_count", 9),
        ("activated_file_pages_count", 5),
        ("restored_file_pages_count", 2),
        ("shadow_nodes_reclaimed_count", 1),
    ];
    for (text, count) in [(old, 4), (new, 7)] {
        let got = collect(|emit| vmstat(text, 4096, emit));
        assert_eq!(got.len(), count);
        for (name, value) in of_files {
            assert_eq!(got[name], value, "{name}");
        }
    }
    let got = collect(|emit| vmstat(new, 4096, emit));
    let anon = ["refaulted", "activated", "restored"]
        .map(|what| got[format!("{what}_anon_pages_count").as_str()]);
    assert_eq!(anon, [4, 3, 1]);
}

#[test]
fn diskstats_of_old_and_new_kernels() {
    let text = "   7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n 254 0 vda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n 8 0 sda 1 0 8 2 0 0 0 0 0 2 2\n";
    let mut got = Vec::new();
    disks(text, &mut |device, name, value| {
        got.push((device.to_owned(), name, value))
    });
    assert!(got.contains(&("vda".into(), "read_bytes", 3 * 512)));
    assert!(got.contains(&("vda".into(), "flush_time_ns", 17_000_000)));
    assert!(got.contains(&("sda".into(), "queue_time_ns", 2_000_000)));
    assert_eq!(got.len(), 11 + 9);
}

#[test]
fn net_dev() {
    let text = "Inter-| Receive | Transmit\n face |bytes packets|bytes\n    lo:    3193 29 0 0 0 0 0 0 3194 30 1 2 0 0 0 0\n ifb0: 0 0 0\n a:b:1 2 3\n";
    let mut got = Vec::new();
    interfaces(text, &mut |interface, name, value| {
        got.push((interface.to_owned(), name, value))
    });
    assert!(got.contains(&("lo".into(), "sent_bytes", 3194)));
    assert!(got.contains(&("lo".into(), "sent_drops_count", 2)));
    assert!(got.contains(&("a:b".into(), "received_bytes", 1)));
    assert_eq!(got.len(), 8 + 3);
}

#[test]
fn pressure_and_load() {
    let text = "some avg10=6.65 avg60=2.68 avg300=1.96 total=32594498\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n";
    let got = collect(|emit| pressure("io", text, emit));
    assert_eq!(
        (got["psi_io_some_ns"], got["psi_io_full_ns"]),
        (32_594_498_000, 5_000)
    );
    assert_eq!(
        (last_pid("0.42 1.5 2 3/456 7890\n"), last_pid("")),
        (7890, 0)
    );
    let got = collect(|emit| loadavg("0.42 1.5 2 3/456 7890\n", emit));
    assert_eq!(
        (
            got["load_1min_milli"],
            got["load_15min_milli"],
            got["threads_count"]
        ),
        (420, 2000, 456)
    );
}
