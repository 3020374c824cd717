//! The `[…]` groups in front of a unified logging line.
//!
//! HotSpot writes the chosen decorations in a fixed order: time, utctime, uptime,
//! timemillis, uptimemillis, timenanos, uptimenanos, hostname, pid, tid, level, tags.
//! Groups are distinguished by their form; where two have the same form (`…ns`, `…ms`,
//! numbers) the order decides.

/// What the decorations of a line say. Absent ones are `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Decorations {
    /// `timenanos`: CLOCK_MONOTONIC on Linux.
    pub mono_ns: Option<i64>,
    /// `uptimenanos`, `uptimemillis` or `uptime`, the finest of them.
    pub uptime_ns: Option<i64>,
    /// `time`, `utctime` or `timemillis`: Unix time.
    pub wall_ns: Option<i64>,
    /// A single `…ns` group: `timenanos` or `uptimenanos`, which the line alone does not show.
    pub single_ns: Option<i64>,
    /// Process, where both pid and tid are written.
    pub pid: Option<i64>,
    /// Thread; where only one of pid and tid is written, that number.
    pub tid: Option<i64>,
    /// A level was among them, so the line is HotSpot's beyond doubt.
    pub has_level: bool,
}

/// Values above this are Unix milliseconds, below it uptimes (2001 against 31 years up).
const WALL_MILLIS_FROM: i64 = 1_000_000_000_000;

/// Splits a line into its decorations and its message.
///
/// Returns `None` where the line does not begin with a decoration.
pub fn split(line: &str) -> Option<(Decorations, &str)> {
    let mut found = Decorations::default();
    let (mut rest, mut groups) = (line, 0);
    let (mut nanos, mut numbers) = ([None; 2], [None; 2]);
    let mut seconds_uptime = None;
    while let Some((group, tail)) = rest.strip_prefix('[').and_then(|r| r.split_once(']')) {
        if found.has_level {
            // After the level come the tags, and then the message, whatever it starts with.
            rest = if is_tags(group) { tail } else { rest };
            groups += 1;
            break;
        }
        let text = group.trim_end();
        if let Some(value) = digits_before(text, "ns") {
            push(&mut nanos, value)?;
        } else if let Some(value) = digits_before(text, "ms") {
            if value >= WALL_MILLIS_FROM {
                found.wall_ns.get_or_insert(value.checked_mul(1_000_000)?);
            } else {
                found.uptime_ns = Some(value.checked_mul(1_000_000)?);
            }
        } else if let Some(value) = seconds_before(text) {
            seconds_uptime = Some(value);
        } else if let Some(value) = digits_before(text, "") {
            push(&mut numbers, value)?;
        } else if let Some(value) = iso_time(text) {
            found.wall_ns.get_or_insert(value);
        } else if matches!(text, "trace" | "debug" | "info" | "warning" | "error") {
            found.has_level = true;
        } else if !is_tags(group) && !is_host(text) {
            break;
        }
        groups += 1;
        rest = tail;
    }
    if groups == 0 {
        return None;
    }
    match nanos {
        [Some(mono), Some(up)] => (found.mono_ns, found.uptime_ns) = (Some(mono), Some(up)),
        [single, _] => found.single_ns = single,
    }
    found.uptime_ns = found.uptime_ns.or(seconds_uptime);
    match numbers {
        [Some(pid), Some(tid)] => (found.pid, found.tid) = (Some(pid), Some(tid)),
        [single, _] => found.tid = single,
    }
    Some((found, rest.trim()))
}

fn push(slots: &mut [Option<i64>; 2], value: i64) -> Option<()> {
    let slot = slots.iter_mut().find(|slot| slot.is_none())?;
    *slot = Some(value);
    Some(())
}

fn digits_before(text: &str, unit: &str) -> Option<i64> {
    let number = text.strip_suffix(unit)?;
    let plain = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    if plain { number.parse().ok() } else { None }
}

/// `0.123s`, also with the decimal comma of some locales.
fn seconds_before(text: &str) -> Option<i64> {
    decimal(text.strip_suffix('s')?, 9)
}

/// A decimal number as an integer of its 10^`digits`-th part: `decimal("3.456", 6)` = 3 456 000.
pub fn decimal(text: &str, digits: usize) -> Option<i64> {
    let (whole, fraction) = text.split_once(['.', ',']).unwrap_or((text, ""));
    let plain = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || fraction.len() > digits || !plain(whole) || !plain(fraction) {
        return None;
    }
    let scale = 10_i64.pow((digits - fraction.len()) as u32);
    let part = if fraction.is_empty() {
        0
    } else {
        fraction.parse::<i64>().ok()?
    };
    let whole = whole
        .parse::<i64>()
        .ok()?
        .checked_mul(10_i64.pow(digits as u32))?;
    whole.checked_add(part.checked_mul(scale)?)
}

/// `2026-11-21T09:43:13.123+0000` as Unix nanoseconds.
fn iso_time(text: &str) -> Option<i64> {
    let b = text.as_bytes();
    let shape = b.len() >= 28 && text.is_ascii();
    if !shape || b[4] != b'-' || b[7] != b'-' || b[10] != b'T' || b[13] != b':' || b[16] != b':' {
        return None;
    }
    let number = |range: std::ops::Range<usize>| digits_before(&text[range], "");
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute) = (number(11..13)?, number(14..16)?);
    let zone_at = b.len() - 5;
    let seconds_ns = decimal(&text[17..zone_at], 9)?;
    let sign = match b[zone_at] {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let zone_s =
        sign * (number(zone_at + 1..zone_at + 3)? * 3600 + number(zone_at + 3..zone_at + 5)? * 60);
    let minutes = days_from_civil(year, month, day) * 1440 + hour * 60 + minute;
    (minutes * 60 - zone_s)
        .checked_mul(1_000_000_000)?
        .checked_add(seconds_ns)
}

/// Days since 1970-01-01 in the Gregorian calendar.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let y = if month <= 2 { year - 1 } else { year };
    let era = y.div_euclid(400);
    let year_of_era = y - era * 400;
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn is_tags(group: &str) -> bool {
    let text = group.trim_end();
    !text.is_empty()
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b',' | b'+'))
}

fn is_host(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_decorations() {
        let (d, message) =
            split("[1362526967286ns][49992946ns][12164][info][gc          ] GC(0) Pause").unwrap();
        assert_eq!(
            (d.mono_ns, d.uptime_ns),
            (Some(1_362_526_967_286), Some(49_992_946))
        );
        assert_eq!((d.wall_ns, d.pid, d.has_level), (None, None, true));
        assert_eq!(d.tid, Some(12_164));
        assert_eq!(message, "GC(0) Pause");
    }

    #[test]
    fn default_decorations_and_decimal_comma() {
        for line in ["[0.123s][info][gc] Using G1", "[0,123s][info][gc] Using G1"] {
            let (d, message) = split(line).unwrap();
            assert_eq!((d.uptime_ns, message), (Some(123_000_000), "Using G1"));
        }
    }

    #[test]
    fn everything_at_once() {
        let line = "[2026-11-21T10:43:13.123+0100][2026-11-21T09:43:13.123+0000][1.234s][1795254193123ms][1234ms]\
                    [99ns][1234567890ns][node-1][17][18][info][gc,start] GC(0) Pause Full (System.gc())";
        let (d, message) = split(line).unwrap();
        assert_eq!(d.wall_ns, Some(1_795_254_193_123_000_000));
        assert_eq!(
            (d.mono_ns, d.uptime_ns, d.pid),
            (Some(99), Some(1_234_567_890), Some(17))
        );
        assert_eq!(message, "GC(0) Pause Full (System.gc())");
    }

    #[test]
    fn utc_and_zoned_times_agree() {
        let utc = iso_time("2026-11-21T09:43:13.123+0000").unwrap();
        assert_eq!(utc, 1_795_254_193_123_000_000);
        assert_eq!(iso_time("2026-11-21T04:13:13.123-0530"), Some(utc));
        assert_eq!(
            iso_time("2000-02-29T00:00:00.000+0000"),
            Some(951_782_400_000_000_000)
        );
    }

    #[test]
    fn a_message_may_begin_with_a_bracket() {
        let (_, message) = split("[0.1s][info][gc] [numa] x").unwrap();
        assert_eq!(message, "[numa] x");
        let (_, message) = split("[0.1s][info] [Numa] x").unwrap();
        assert_eq!(message, "[Numa] x");
    }

    #[test]
    fn undecorated_lines_are_told() {
        assert_eq!(split("Using G1"), None);
        assert_eq!(split("[not a decoration] x"), None);
        assert_eq!(split("[0.1s"), None);
    }

    #[test]
    fn decimals() {
        assert_eq!(decimal("3.456", 6), Some(3_456_000));
        assert_eq!(decimal("3", 6), Some(3_000_000));
        assert_eq!(decimal("3.", 6), Some(3_000_000));
        assert_eq!(decimal("", 6), None);
        assert_eq!(decimal("1.0000000", 6), None);
        assert_eq!(decimal("99999999999999999999", 6), None);
    }
}
