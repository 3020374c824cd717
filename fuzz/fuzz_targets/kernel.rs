//! Any bytes as what the kernel tells: netlink messages, records of programs, texts of `/proc`: no panic.
#![no_main]

#[allow(dead_code)]
#[path = "../../crates/pyro-probe/src/parse/mod.rs"]
mod parse;

use libfuzzer_sys::fuzz_target;
use parse::{cgroup, events, host, process, taskstats};

fuzz_target!(|bytes: &[u8]| {
    for message in taskstats::messages(bytes) {
        if let taskstats::Message::Thread(stats) = message {
            assert!(stats.ended(0).ended);
        }
    }
    taskstats::Stats::parse(bytes);
    events::Event::parse(bytes);
    events::sum(bytes, bytes);
    events::latency(bytes, bytes);
    assert!(events::frames(bytes).len() <= 64);
    let text = String::from_utf8_lossy(bytes);
    let mut emit = |_: &'static str, _: i64| {};
    process::stat(&text);
    process::schedstat(&text);
    process::status(&text, &mut emit);
    host::stat(&text, 100, &mut |_, _, _| {});
    host::vmstat(&text, 4096, &mut emit);
    host::disks(&text, &mut |_, _, _| {});
    cgroup::io_stat(&text, &mut emit);
    cgroup::mounts(&text);
});
