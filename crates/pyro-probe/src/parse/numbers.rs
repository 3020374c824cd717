//! Numbers as the kernel prints them, by name.

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
pub fn named(table: &[(&str, &'static str, i64)], name: &str) -> Option<(&'static str, i64)> {
    table
        .iter()
        .find(|row| row.0 == name)
        .map(|row| (row.1, row.2))
}

/// Emits those `name value` lines that `table` names, multiplied by its factor.
pub fn name_value_lines(text: &str, table: &[(&str, &'static str, i64)], emit: &mut Emit) {
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
