//! What is known of a recording while a chunk of it is read.

use std::collections::{BTreeMap, HashSet};

use pyro_stacks::Rules;

use super::chunk::Event;
use super::events::{Kind, Record, Slot};
use super::pools::Pools;
use super::settings::{Said, Settings};
use super::spans::SpanIndex;
use super::types::Types;

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
    /// Samples left out as others are of the same time.
    pub of_same_time: u64,
    /// Times that the recorder lost events.
    pub losses: u64,
    /// Bytes of these events.
    pub lost_bytes: u64,
    /// Samples by CPU time that it lost.
    pub lost_samples: u64,
    /// Threads named after a task that the plugin did not see there.
    pub misnamed: HashSet<i64>,
}

impl Seen {
    /// Notes what the recorder says that it lost.
    pub fn lost(&mut self, kind: Kind, record: &Record<'_>) {
        if kind == Kind::DataLoss {
            self.losses += 1;
            self.lost_bytes = self.lost_bytes.saturating_add(record.number(Slot::Bytes));
        } else {
            let samples = record.number(Slot::Count);
            self.lost_samples = self.lost_samples.saturating_add(samples);
        }
    }

    /// Adds what was read of a later chunk.
    pub fn add(&mut self, later: Self) {
        self.events += later.events;
        self.broken += later.broken;
        self.broken_pools += later.broken_pools;
        self.of_same_time += later.of_same_time;
        self.losses += later.losses;
        self.lost_bytes = self.lost_bytes.saturating_add(later.lost_bytes);
        self.lost_samples = self.lost_samples.saturating_add(later.lost_samples);
        self.misnamed.extend(later.misnamed);
        for (name, count) in later.ignored {
            *self.ignored.entry(name).or_default() += count;
        }
    }
}

/// One recording.
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
            rules,
        }
    }

    /// The process, where the file's name or the recording has it.
    pub fn pid(&self) -> Option<i64> {
        self.pid.or(self.settings.pid)
    }
}

/// What events say of their recording.
pub fn said<'e>(
    events: impl Iterator<Item = Event<'e>>,
    types: &Types,
    pools: &Pools<'_>,
) -> Vec<Said> {
    let mut record = Record::default();
    let mut said = Vec::new();
    for event in events {
        if let Some(reader) = types.reader(event.class)
            && reader.is_about_recording()
            && reader.read(event.body, &mut record)
        {
            said.push(Said::read(reader.kind, &record, pools, types));
        }
    }
    said
}

/// Opens the recording with a number, of which nothing was read.
pub type Open<'o, 'a> = &'o (dyn Fn(usize) -> Recording<'a> + Sync);
