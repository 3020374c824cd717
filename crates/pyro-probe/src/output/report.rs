//! The probe's account of itself, replaced about once a second.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::sys::{self, mono_ns, wall_ns};

/// A reading of both clocks at one moment.
#[derive(Debug, Clone, Copy)]
pub struct ClockPair {
    /// CLOCK_MONOTONIC.
    pub mono_ns: i64,
    /// Unix time.
    pub wall_ns: i64,
}

impl ClockPair {
    /// Reads both, the wall clock between two readings of the other; the closest of a few tries.
    pub fn read() -> Self {
        let attempt = || {
            let before = mono_ns();
            let wall = wall_ns();
            let after = mono_ns();
            (
                after - before,
                Self {
                    mono_ns: before + (after - before) / 2,
                    wall_ns: wall,
                },
            )
        };
        let tries = [attempt(), attempt(), attempt()];
        tries
            .into_iter()
            .min_by_key(|(width, _)| *width)
            .map_or_else(|| attempt().1, |(_, pair)| pair)
    }
}

/// Clock pairs of a run: never more than [`Self::LIMIT`], thinned out as the run goes on.
#[derive(Debug)]
pub struct ClockPairs {
    pairs: Vec<ClockPair>,
    every_ns: i64,
}

impl ClockPairs {
    const LIMIT: usize = 128;

    /// Starts with one pair.
    pub fn start() -> Self {
        Self {
            pairs: vec![ClockPair::read()],
            every_ns: 10_000_000_000,
        }
    }

    /// Adds a pair if enough time has passed since the last one.
    pub fn tick(&mut self) {
        let pair = ClockPair::read();
        if self
            .pairs
            .last()
            .is_none_or(|last| pair.mono_ns - last.mono_ns >= self.every_ns)
        {
            self.pairs.push(pair);
        }
        if self.pairs.len() > Self::LIMIT {
            let mut index = 0;
            self.pairs.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.every_ns *= 2;
        }
    }

    /// The pairs kept, and one of now.
    pub fn to_json(&self) -> Value {
        let with_now = self.pairs.iter().copied().chain([ClockPair::read()]);
        with_now
            .map(|pair| json!({"mono_ns": pair.mono_ns, "wall_ns": pair.wall_ns}))
            .collect()
    }
}

/// Files grow by so much: room for a report that is longer when the disk is full by then.
const ROOM_BYTES: usize = 4096;

/// Replaces a file as a whole: its readers see the old or the new one.
///
/// The old file is kept beside it, its name ending in `.tmp`, and is what the next report is
/// written into: a disk that has filled up meanwhile cannot keep the probe from saying so. Blanks fill
/// it up to the length that it has, so that nothing is taken from the disk or given back, unless it is
/// the `last`.
///
/// # Errors
/// What the system says; the old file then stays.
pub fn replace(path: &Path, content: &Value, last: bool) -> io::Result<()> {
    let spare = spare(path);
    let mut text = content.to_string().into_bytes();
    let length = text.len();
    let mut file = sys::writable_regular(&spare)?;
    let there = file.metadata()?.len() as usize;
    let room = if length <= there {
        there
    } else {
        (length + ROOM_BYTES).next_multiple_of(ROOM_BYTES)
    };
    text.resize(room, b' ');
    file.write_all(&text)?;
    if last {
        file.set_len(length as u64)?;
    }
    if sys::exchange(&spare, path).is_ok() {
        return Ok(());
    }
    std::fs::rename(&spare, path)?;
    // There was none to change places with: room for the next is taken while there is some.
    if let Ok(file) = sys::writable_regular(&spare) {
        sys::reserve(&file, room);
    }
    Ok(())
}

/// Removes what [`replace`] kept for the next report.
pub fn no_more(path: &Path) {
    let _ = std::fs::remove_file(spare(path));
}

fn spare(path: &Path) -> PathBuf {
    let mut name = PathBuf::from(path).into_os_string();
    name.push(".tmp");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_pairs_stay_few() {
        let mut pairs = ClockPairs::start();
        pairs.every_ns = 0;
        for _ in 0..1000 {
            pairs.tick();
            pairs.every_ns = 0;
        }
        assert!(pairs.pairs.len() <= ClockPairs::LIMIT);
        assert!(pairs.pairs.is_sorted_by_key(|pair| pair.mono_ns));
    }

    #[test]
    fn a_report_is_replaced_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.json");
        let put = |value| replace(&path, &value, false).unwrap();
        let read = || std::fs::read_to_string(&path).unwrap();
        put(json!({"a": 1}));
        let kept = std::fs::metadata(spare(&path)).unwrap();
        assert!(std::os::unix::fs::MetadataExt::blocks(&kept) * 512 >= 4096);
        put(json!({"a": 2}));
        assert_eq!(read().trim_end(), r#"{"a":2}"#);
        put(json!({"longer": "x".repeat(5000)}));
        let length = read().len();
        for number in 4..8 {
            put(json!({"a": number}));
            assert_eq!(read().trim_end(), format!(r#"{{"a":{number}}}"#));
        }
        assert!(read().len() <= length && length % ROOM_BYTES == 0);
        replace(&path, &json!({"a": 9}), true).unwrap();
        assert_eq!(read(), r#"{"a":9}"#);
        no_more(&path);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        let precious = folder.path().join("precious");
        std::fs::write(&precious, "precious").unwrap();
        std::os::unix::fs::symlink(&precious, spare(&path)).unwrap();
        assert!(replace(&path, &json!({"a": 10}), false).is_err());
        assert_eq!(std::fs::read(&precious).unwrap(), b"precious");
        assert!(replace(&folder.path().join("no/such"), &json!({}), false).is_err());
    }
}
