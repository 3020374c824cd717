//! One recording: its chunks in turn, its events to rows.

use std::collections::{BTreeMap, HashSet};

use pyro_model::{JitBuilder, ParquetSink, Result};
use pyro_stacks::Rules;

use super::chunk::{Chunk, Event as RawEvent};
use super::events::{Kind, Reader, Record, readers};
use super::keys::KeyMap;
use super::lookup::Lookup;
use super::metadata::Metadata;
use super::pools::Pools;
use super::reading::Reading;
use super::samples::SampleSink;
use super::settings::Settings;
use super::spans::SpanIndex;
use super::unfreed::Unfreed;
use crate::dictionary::Dictionary;

/// Type id of a chunk's description of its types, which the format fixes.
const METADATA: u64 = 0;
/// The same of constant pools; types of events have larger ones.
pub const CHECKPOINT: u64 = 1;

/// Tables and dictionaries shared by all recordings.
pub struct Output {
    /// Table samples.
    pub samples: SampleSink,
    /// Table jit.
    pub jit: ParquetSink<JitBuilder>,
    /// Tables frames and stacks.
    pub dictionary: Dictionary,
    /// What was looked up in constant pools.
    pub lookup: Lookup,
}

/// Counts of what was met and not used.
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
    /// Threads whose name tells of a task that the plugin did not see there.
    pub misnamed: HashSet<i64>,
}

/// Reads the chunks of one file.
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
    /// Native memory, until the recording's end tells what was not given back.
    pub unfreed: Unfreed<'a>,
    /// Rules of stacks and threads.
    pub rules: &'static Rules,
}

impl<'a> Recording<'a> {
    /// A recording of process `pid`, where the file name tells it.
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

    /// The process, where the file's name or the recording tells it.
    pub fn pid(&self) -> Option<i64> {
        self.pid.or(self.settings.pid)
    }

    /// Takes one chunk in. Returns the offset in the chunk at which it breaks off, if it does.
    ///
    /// # Errors
    /// If a table cannot be written.
    pub fn chunk(&mut self, chunk: &Chunk, output: &mut Output) -> Result<Option<usize>> {
        let mut events = chunk.events();
        let framework: Vec<RawEvent<'_>> = events
            .by_ref()
            .filter(|event| event.class <= CHECKPOINT)
            .collect();
        let broken_at = events.broken_at;
        let metadata = framework.iter().filter(|event| event.class == METADATA);
        // The last whole description counts: the JDK writes a new one when classes were added.
        let Some(metadata) = metadata
            .rev()
            .find_map(|event| Metadata::parse(event.body).ok())
        else {
            return Ok(Some(broken_at.unwrap_or(0)));
        };
        let mut pools = Pools::new(&chunk.bytes, &metadata);
        for event in framework.iter().filter(|event| event.class == CHECKPOINT) {
            self.seen.broken_pools +=
                u64::from(pools.note(&metadata, event.body, event.at).is_err());
        }
        let readers = readers(&metadata);
        self.learn(chunk, &readers, &pools, &metadata);
        if !self.settings_only {
            output.lookup.begin_chunk(&pools);
            let ignored = Reading::new(self, chunk, &pools, output).rows(&readers, output)?;
            self.unfreed.next_chunk();
            for (class, count) in ignored {
                let name = metadata
                    .get(class)
                    .map_or("unknown", |class| class.name.as_str());
                *self.seen.ignored.entry(name.to_owned()).or_default() += count;
            }
        }
        Ok(broken_at)
    }

    /// Takes in what the chunk says of the recording: rows depend on it.
    fn learn(
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
