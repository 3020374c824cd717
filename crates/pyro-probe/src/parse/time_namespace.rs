//! What a time namespace adds to the clocks of the kernel.

use super::numbers::number;

/// What CLOCK_MONOTONIC is more than in the kernel, by `/proc/self/timens_offsets`, ns; `None` where the text does
/// not say.
pub fn monotonic_offset_ns(text: &str) -> Option<i64> {
    let mut lines = text.lines().map(str::split_ascii_whitespace);
    let mut line = lines.find_map(|mut words| (words.next()? == "monotonic").then_some(words))?;
    let (seconds, ns) = (number(line.next()?)?, number(line.next()?)?);
    seconds.checked_mul(1_000_000_000)?.checked_add(ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn recorded_offsets() {
        let recorded = include_str!("../../tests/data/timens_offsets");
        assert_eq!(monotonic_offset_ns(recorded), Some(10_000_250_000_000));
        let none = "monotonic           0         0\nboottime            0         0\n";
        assert_eq!(monotonic_offset_ns(none), Some(0));
        // Nanoseconds count upwards, whatever the sign of the seconds.
        let behind = "boottime  7 7\nmonotonic -2 999999999\n";
        assert_eq!(monotonic_offset_ns(behind), Some(-1_000_000_001));
        for unsaid in [
            "",
            "monotonic",
            "monotonic 1",
            "monotonic x 0",
            "boottime 1 0",
        ] {
            assert_eq!(monotonic_offset_ns(unsaid), None, "{unsaid:?}");
        }
        let too_far = format!("monotonic {} 0", i64::MAX);
        assert_eq!(monotonic_offset_ns(&too_far), None);
    }

    proptest! {
        #[test]
        fn every_offset_is_read(seconds in -9_000_000_000_i64..9_000_000_000, ns in 0_i64..1_000_000_000) {
            let text = format!("{:<10} {seconds:>10} {ns:>9}\n", "monotonic");
            prop_assert_eq!(monotonic_offset_ns(&text), Some(seconds * 1_000_000_000 + ns));
        }
    }
}
