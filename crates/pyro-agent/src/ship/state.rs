//! What a shipper remembers of a folder, also when it was killed.

use std::collections::BTreeMap;

use pyro_chunks::Source;
use serde::{Deserialize, Serialize};

use crate::ship::progress::{MOST, Progress};

/// More files of a folder are not followed.
pub const MAX_FILES: usize = 4096;
/// Name and version of the file's format.
const SCHEMA: &str = "pyrometer/shipping/1";

/// The state of shipping one folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    schema: String,
    /// Whose streams they are.
    pub source: Source,
    /// Every file by its name.
    pub files: BTreeMap<String, Progress>,
    /// Bytes that were taken and could not be read again when the store was ready for them.
    pub lost_bytes: u64,
}

impl State {
    /// Nothing is shipped yet.
    pub fn begin(source: Source) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            source,
            files: BTreeMap::new(),
            lost_bytes: 0,
        }
    }

    /// Reads what [`State::text`] made; `None` if it is something else.
    pub fn parse(text: &str) -> Option<Self> {
        let state: Self = serde_json::from_str(text).ok()?;
        let is_sound = state.schema == SCHEMA
            && state.lost_bytes <= MOST
            && state.files.len() <= MAX_FILES
            && state.files.values().all(Progress::is_sound);
        is_sound.then_some(state)
    }

    /// The state as a text.
    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers always serialise")
    }

    /// Bytes that wait for the store.
    pub fn waiting_bytes(&self) -> u64 {
        self.files.values().map(Progress::waiting_bytes).sum()
    }

    /// Bytes that were dropped.
    pub fn dropped_bytes(&self) -> u64 {
        self.files.values().map(|file| file.dropped_bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pyro_chunks::{At, Cut};
    use serde_json::Value;

    fn state() -> State {
        let name = || "x".to_owned();
        let mut state = State::begin(Source {
            app: name(),
            executor: name(),
            attempt: name(),
            host: name(),
        });
        let mut progress = Progress::begin(1, 0);
        let cut = |length| Cut {
            length,
            then: At::Start,
        };
        progress.take(cut(10), false, 1);
        progress.drop_cut(cut(5));
        progress.take(cut(7), false, 1);
        progress.drop_cut(cut(3));
        state.files.insert("gc-1.log".to_owned(), progress);
        state
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let state = state();
        assert_eq!(State::parse(&state.text()), Some(state));
    }

    #[test]
    fn numbers_that_cannot_be_are_refused() {
        let whole: Value = serde_json::from_str(&state().text()).unwrap();
        let file = "/files/gc-1.log";
        for place in [
            "/lost_bytes".to_owned(),
            format!("{file}/taken_to"),
            format!("{file}/next"),
            format!("{file}/skipped_bytes"),
            format!("{file}/dropped_bytes"),
            format!("{file}/freed_to"),
            format!("{file}/queue/1/sequence"),
            format!("{file}/queue/1/offset"),
            format!("{file}/queue/1/length"),
            format!("{file}/queue/1/skipped_bytes"),
        ] {
            for number in [u64::MAX, 1 << 51] {
                let mut changed = whole.clone();
                *changed.pointer_mut(&place).unwrap() = number.into();
                assert_eq!(State::parse(&changed.to_string()), None, "{place}");
            }
        }
        for text in ["", "{}", "[", &"[".repeat(100_000)] {
            assert_eq!(State::parse(text), None);
        }
    }
}
