//! What a shipper remembers of a folder, also when it was killed.

use std::collections::BTreeMap;

use pyro_chunks::Source;
use serde::{Deserialize, Serialize};

use crate::ship::progress::Progress;

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
        (state.schema == SCHEMA).then_some(state)
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
