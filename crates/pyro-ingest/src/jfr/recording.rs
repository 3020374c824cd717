//! What is known of a recording while its chunks are read.

use std::collections::{BTreeMap, HashSet};

use pyro_stacks::Rules;

use super::chunk::Chunk;
use super::events::{Kind, Reader, Record};
use super::keys::KeyMap;
use super::metadata::Metadata;
use super::pools::Pools;
use super::settings::Settings;
use super::spans::SpanIndex;
use super::unfreed::Unfreed;

/// Counts of what was read and not used.
#[derive(Debug, Default)]
pub struct Seen {
    /// Events.
    pub events: u64,
    /// Events of kinds that are not used, by name.
    pub ignored: BTreeMap<String, u64>,
    /// Events that could not be read.
    pub broken: u64,
    /// Checkpoints that could not be read.
    pub broken_pools: u64,
    /// Threads named after a task that the plugin did not see there.
    pub misnamed: HashSet<i64>,
}

/// One recording, whose chunks are read in turn.
pub struct Recording<'a> {
    /// Host.
    pub host: &'a str,
    pid: Option<i64>,
    /// Tasks.
    pub spans: &'a SpanIndex,
    /// About itself.
    pub settings: Settings,
    /// Counts.
    pub seen: Seen,
    /// Only to read `settings`.
    pub settings_only: bool,
    /// Native memory, until the end of the recording shows what was not freed.
    pub unfreed: Unfreed<'a>,
    /// Rules of stacks and threads.
    pub rules: &'static Rules,
}

impl<'a> Recording<'a> {
    /// A recording of process `pid`, where the file name has it.
    pub fn new(
        host: &'a str,
        pid: Option<i64>,
        spans: &'a SpanIndex,
        rules: &'static Rules,
    ) -> Self {
        Self {
            host,
            pid,
            spans,
            settings: Settings::default(),
            seen: Seen::default(),
            settings_only: false,
            unfreed: Unfreed::default(),
            rules,
        }
    }

    /// The process, where the file's name or the recording has it.
    pub fn pid(&self) -> Option<i64> {
        self.pid.or(self.settings.pid)
    }

    /// Takes in what the chunk says of the recording: rows depend on it.
    pub fn learn(
        &mut self,
        chunk: &Chunk,
        readers: &KeyMap<u64, Reader>,
        pools: &Pools<'_>,
        metadata: &Metadata,
    ) {
        let mut record = Record::default();
        for event in chunk.events() {
            if let Some(reader) = readers.get(&event.class)
                && matches!(reader.kind, Kind::Setting | Kind::Recording | Kind::Jvm)
                && reader.read(event.body, &mut record)
            {
                self.settings.learn(reader.kind, &record, pools, metadata);
            }
        }
    }
}
