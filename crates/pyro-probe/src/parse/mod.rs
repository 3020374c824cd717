//! Texts of the kernel to numbers. Nothing here opens a file; whatever the text, nothing panics.

pub mod cgroup;
pub mod counters;
pub mod events;
pub mod host;
mod numbers;
pub mod process;
pub mod taskstats;
pub mod thread_record;
pub mod time_namespace;

#[cfg(test)]
use numbers::Emit;
pub use numbers::{number, ticks_ns};

#[cfg(test)]
pub mod tests_support {
    use std::collections::BTreeMap;

    use super::Emit;

    /// What a parser emits, by name; a name emitted twice is a fault of the parser.
    pub fn collect(parse: impl FnOnce(&mut Emit)) -> BTreeMap<&'static str, i64> {
        let mut got = BTreeMap::new();
        parse(&mut |name, value| assert!(got.insert(name, value).is_none(), "{name} twice"));
        got
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_text_makes_a_parser_panic(text in "\\PC*|[0-9a-z:=() \n./-]{0,200}") {
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
            host::pressure("cpu", &text, &mut emit);
            host::loadavg(&text, &mut emit);
            time_namespace::monotonic_offset_ns(&text);
            cgroup::cpu_stat(&text, &mut emit);
            cgroup::cpu_max(&text, &mut emit);
            cgroup::v1::cpuacct_stat(&text, 100, &mut emit);
            cgroup::memory_stat(&text, &mut emit);
            cgroup::mounts(&text);
            cgroup::cpus_allowed(&text, &mut emit);
            cgroup::io_stat(&text, &mut emit);
            cgroup::io_max(&text, &mut emit);
            cgroup::v1::io_service_bytes(&text, &mut emit);
            cgroup::v1::bps_device("read", &text, &mut emit);
        }
    }

    #[test]
    fn numbers_beyond_i64_stay_at_its_end() {
        assert_eq!(number("18446744073709551615"), Some(i64::MAX));
        assert_eq!(number("-1"), Some(-1));
        assert_eq!(number("max"), None);
        assert_eq!(ticks_ns(7, 100), 70_000_000);
    }
}
