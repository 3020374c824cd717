//! Texts and bytes of perf events: event strings, format files, what a read returns. Pure.

/// The three words that select what a PMU counts.
pub type Config = [u64; 3];

/// Where a PMU keeps one field of an event: a word and its ranges of bits, lowest first.
///
/// Read from `/sys/bus/event_source/devices/<pmu>/format/<field>`: `config:0-7,32-35`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    word: usize,
    bits: Vec<(u32, u32)>,
}

impl Field {
    /// Parses a format file.
    pub fn parse(text: &str) -> Option<Self> {
        let (word, ranges) = text.trim().split_once(':')?;
        let word = match word {
            "config" => 0,
            "config1" => 1,
            "config2" => 2,
            _ => return None,
        };
        let bits = ranges
            .split(',')
            .map(|range| {
                let (first, last) = range.split_once('-').unwrap_or((range, range));
                let (first, last) = (first.parse().ok()?, last.parse().ok()?);
                (first <= last && last < 64).then_some((first, last))
            })
            .collect::<Option<Vec<_>>>()?;
        Some(Self { word, bits })
    }

    /// Puts a value into the words; false if it has more bits than the field.
    fn put(&self, mut value: u64, words: &mut Config) -> bool {
        for &(first, last) in &self.bits {
            let width = last - first + 1;
            let mask = if width == 64 {
                u64::MAX
            } else {
                (1 << width) - 1
            };
            words[self.word] |= (value & mask) << first;
            value = if width == 64 { 0 } else { value >> width };
        }
        value == 0
    }
}

/// A number of an event string or of a `type` file: decimal, or hexadecimal after `0x`.
pub fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Turns an event string (`event=0x04,umask=0x03`) into the words, by the formats of its PMU.
///
/// # Errors
/// The term that cannot be understood.
pub fn config(terms: &str, field: impl Fn(&str) -> Option<Field>) -> Result<Config, String> {
    let mut words = [0; 3];
    for term in terms.split(',').map(str::trim).filter(|t| !t.is_empty()) {
        let (name, value) = term.split_once('=').unwrap_or((term, "1"));
        let value = number(value).ok_or_else(|| format!("{term:?} has no number"))?;
        let whole = ["config", "config1", "config2"]
            .iter()
            .position(|&w| w == name);
        match (whole, field(name)) {
            (Some(word), _) => words[word] |= value,
            (None, Some(field)) if field.put(value, &mut words) => {}
            (None, Some(_)) => return Err(format!("{term:?} does not fit into its field")),
            (None, None) => return Err(format!("{term:?} is not a field of this PMU")),
        }
    }
    Ok(words)
}

/// A list of CPUs or nodes: `0-3,8`. What is no number is left out; never more than 8192 of them.
pub fn list(text: &str) -> Vec<i32> {
    const MOST: i32 = 8192;
    text.trim()
        .split(',')
        .filter_map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last): (i32, i32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
            (0 <= first && first <= last).then(|| first..=last.min(first.saturating_add(MOST)))
        })
        .flatten()
        .take(MOST as usize)
        .collect()
}

/// How long a group of counters was meant to count, and how long it did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    /// Time enabled.
    pub enabled_ns: i64,
    /// Time on the hardware.
    pub running_ns: i64,
}

/// Bytes that a read of a group of `counters` needs.
pub fn group_bytes(counters: usize) -> usize {
    (3 + counters) * 8
}

/// Parses what a read of a group returns (`PERF_FORMAT_GROUP` with both times): the number of
/// counters, the times, the values in the order in which they joined the group.
///
/// `None` if it is not the reading of a group of `expected` counters; `values` is then empty.
pub fn group(bytes: &[u8], expected: usize, values: &mut Vec<i64>) -> Option<Times> {
    values.clear();
    if bytes.len() < group_bytes(expected) {
        return None;
    }
    let mut words = bytes
        .as_chunks::<8>()
        .0
        .iter()
        .map(|word| i64::try_from(u64::from_ne_bytes(*word)).unwrap_or(i64::MAX));
    if words.next()? != expected as i64 {
        return None;
    }
    let times = Times {
        enabled_ns: words.next()?,
        running_ns: words.next()?,
    };
    values.extend(words.take(expected));
    Some(times)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn intel(name: &str) -> Option<Field> {
        Field::parse(match name {
            "event" => "config:0-7",
            "umask" => "config:8-15,32-55",
            "edge" => "config:18",
            "filter" => "config1:0-31",
            _ => return None,
        })
    }

    #[test]
    fn event_strings_of_the_kernel() {
        assert_eq!(config("event=0x04,umask=0x03", intel), Ok([0x0304, 0, 0]));
        assert_eq!(
            config("event=0x00,umask=0x8000\n", intel),
            Ok([0x80 << 32, 0, 0])
        );
        assert_eq!(
            config("event=5,edge,filter=0x40433", intel),
            Ok([0x4_0005, 0x40433, 0])
        );
        assert_eq!(config("config=0x3c,config2=7", intel), Ok([0x3c, 0, 7]));
        let amd = |name: &str| (name == "event").then(|| Field::parse("config:0-7,32-35,59-60"))?;
        assert_eq!(config("event=0x1c7", amd), Ok([1 << 32 | 0xc7, 0, 0]));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (terms, word) in [
            ("event=0x100", "does not fit"),
            ("chip=?", "no number"),
            ("thresh=1", "not a field"),
        ] {
            let message = config(terms, intel).unwrap_err();
            assert!(message.contains(word), "{terms}: {message}");
        }
        for text in [
            "",
            "config",
            "config9:1",
            "config:5-2",
            "config:0-64",
            "config:-1",
            "config:a",
        ] {
            assert_eq!(Field::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn lists_of_cpus() {
        assert_eq!(list("0-2,8,10-10\n"), [0, 1, 2, 8, 10]);
        assert!(list("").is_empty());
        assert_eq!(list("3-1,x,-4,2"), [2]);
        assert_eq!(list("0-2147483647").len(), 8192);
    }

    #[test]
    fn a_group_is_read_whole_or_not_at_all() {
        let words = [2_u64, 1000, 400, 7, u64::MAX];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let mut values = vec![9];
        let times = group(&bytes, 2, &mut values);
        assert_eq!(
            times,
            Some(Times {
                enabled_ns: 1000,
                running_ns: 400
            })
        );
        assert_eq!(values, [7, i64::MAX]);
        assert_eq!((group(&bytes, 1, &mut values), values.len()), (None, 0));
        assert_eq!(group(&bytes[..32], 2, &mut values), None);
        assert_eq!(group(&[], 2, &mut values), None);
    }

    proptest! {
        #[test]
        fn whatever_the_bytes_and_texts_nothing_panics(
            bytes in prop::collection::vec(any::<u8>(), 0..80), expected in 0_usize..8, text in ".{0,40}",
            terms in "([a-z]{0,7}(=(0x)?[0-9a-f]{0,18})?,?){0,4}",
        ) {
            let mut values = Vec::new();
            let read = group(&bytes, expected, &mut values);
            prop_assert_eq!(values.len(), if read.is_some() { expected } else { 0 });
            let _ = (Field::parse(&text), number(&text), list(&text), config(&text, intel), config(&terms, intel));
        }

        #[test]
        fn a_value_that_fits_can_be_read_back(event in 0_u64..=0xff, umask in 0_u64..=0xffff_ffff) {
            let words = config(&format!("event={event:#x},umask={umask}"), intel).unwrap();
            prop_assert_eq!(words[0] & 0xff, event);
            prop_assert_eq!((words[0] >> 8 & 0xff) | (words[0] >> 32 & 0xff_ffff) << 8, umask);
        }
    }
}
