//! Texts of the kernel to numbers. Nothing here opens a file; whatever the text, nothing panics.

pub mod cgroup;
pub mod counters;
pub mod events;
pub mod host;
pub mod process;
pub mod taskstats;
pub mod thread_record;

/// Receives a series name of `schema/series.toml` and its value.
pub type Emit<'a> = dyn FnMut(&'static str, i64) + 'a;

/// Kernel's clock ticks (`_SC_CLK_TCK`, 100 per second) as nanoseconds.
pub fn ticks_ns(ticks: i64, ticks_per_second: i64) -> i64 {
    ticks.saturating_mul(1_000_000_000 / ticks_per_second.max(1))
}

/// A number as the kernel prints it; unsigned values beyond `i64` are held at its end.
pub fn number(text: &str) -> Option<i64> {
    text.parse::<i64>()
        .ok()
        .or_else(|| text.parse::<u64>().ok().map(|_| i64::MAX))
}

/// Finds `name` in a table of (kernel's name, our name, factor).
fn named(table: &[(&str, &'static str, i64)], name: &str) -> Option<(&'static str, i64)> {
    table
        .iter()
        .find(|row| row.0 == name)
        .map(|row| (row.1, row.2))
}

/// Emits those `name value` lines that `table` names, multiplied by its factor.
fn name_value_lines(text: &str, table: &[(&str, &'static str, i64)], emit: &mut Emit) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(name), Some(value)) = (words.next(), words.next().and_then(number)) else {
            continue;
        };
        if let Some((ours, factor)) = named(table, name.trim_end_matches(':')) {
            emit(ours, value.saturating_mul(factor));
        }
    }
}

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
