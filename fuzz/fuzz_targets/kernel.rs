//! Any bytes as what the kernel reports: netlink messages, records of programs, texts of `/proc`: no panic.
#![no_main]

#[allow(dead_code)]
#[path = "../../crates/pyro-probe/src/parse/mod.rs"]
mod parse;

use libfuzzer_sys::fuzz_target;
use parse::{cgroup, events, host, process, taskstats, time_namespace};

fuzz_target!(|bytes: &[u8]| {
    for message in taskstats::messages(bytes) {
        if let taskstats::Message::Thread(stats) = message {
            assert!(stats.counters(0).comm.as_str().len() <= 15);
        }
    }
    taskstats::Stats::parse(bytes);
    events::Event::parse(bytes, i64::MAX);
    events::sum(bytes, bytes);
    events::latency(bytes, bytes);
    assert!(events::frames(bytes).len() <= 64);
    let text = String::from_utf8_lossy(bytes);
    let mut emit = |_: &'static str, _: i64| {};
    process::stat(&text);
    process::schedstat(&text);
    process::syscall(&text);
    process::stack_symbols(&text).count();
    process::cgroups(&text);
    process::io(&text, &mut emit);
    process::status(&text, &mut emit);
    host::stat(&text, 100, &mut |_, _, _| {});
    host::meminfo(&text, &mut emit);
    host::vmstat(&text, 4096, &mut emit);
    host::disks(&text, &mut |_, _, _| {});
    host::interfaces(&text, &mut |_, _, _| {});
    host::pressure("io", &text, &mut emit);
    host::loadavg(&text, &mut emit);
    time_namespace::monotonic_offset_ns(&text);
    host::last_pid(&text);
    cgroup::cpu_stat(&text, &mut emit);
    cgroup::cpu_max(&text, &mut emit);
    cgroup::cpus_allowed(&text, &mut emit);
    cgroup::memory_stat(&text, &mut emit);
    cgroup::io_stat(&text, &mut emit);
    cgroup::io_max(&text, &mut emit);
    cgroup::v1::cpuacct_stat(&text, 100, &mut emit);
    cgroup::v1::io_service_bytes(&text, &mut emit);
    cgroup::v1::bps_device("read", &text, &mut emit);
    for mount in cgroup::mounts(&text) {
        cgroup::folder(&mount, &text);
    }
});
