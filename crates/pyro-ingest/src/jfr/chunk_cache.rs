//! What keys of a chunk mean to its samples, each worked out at first sight.

use pyro_model::TaskSpan;
use pyro_stacks::{java_class_name, task_of_thread};

use super::keys::KeyMap;
use super::output::Output;
use super::pools::{Pools, Thread};
use super::recording::Recording;
use super::samples::ThreadFacts;
use super::types::Named;
use crate::sample_rows::Label;

/// Threads with the tasks that they ran, classes, and which states are sleep.
pub struct ChunkCache<'a, 'c> {
    pools: &'c Pools<'c>,
    threads: KeyMap<u64, (ThreadFacts, &'a [TaskSpan])>,
    classes: KeyMap<u64, Option<Label>>,
    sleeping: KeyMap<u64, Option<bool>>,
}

impl<'a, 'c> ChunkCache<'a, 'c> {
    /// Nothing of a chunk yet.
    pub fn new(pools: &'c Pools<'c>) -> Self {
        Self {
            pools,
            threads: KeyMap::default(),
            classes: KeyMap::default(),
            sleeping: KeyMap::default(),
        }
    }

    /// A thread, and the tasks that it ran.
    pub fn thread(
        &mut self,
        key: u64,
        recording: &mut Recording<'a>,
        output: &mut Output<'a>,
    ) -> (&ThreadFacts, &'a [TaskSpan]) {
        let pools = self.pools;
        let (facts, spans) = self
            .threads
            .entry(key)
            .or_insert_with(|| thread(pools, key, recording, output));
        (facts, *spans)
    }

    /// Name of a class; key 0 is none.
    pub fn class(&mut self, key: u64, output: &mut Output<'a>) -> Option<Label> {
        if key == 0 {
            return None;
        }
        *self.classes.entry(key).or_insert_with(|| {
            let name = self.pools.class(key)?;
            Some(output.label(&java_class_name(&name)))
        })
    }

    /// Whether a thread in this state sleeps, where the state says so.
    pub fn asleep(&mut self, key: u64) -> Option<bool> {
        *self.sleeping.entry(key).or_insert_with(|| {
            match self.pools.name(Named::ThreadState, key)?.as_str() {
                "STATE_SLEEPING" => Some(true),
                "STATE_RUNNABLE" => Some(false),
                _ => None,
            }
        })
    }
}

fn thread<'a>(
    pools: &Pools<'_>,
    key: u64,
    recording: &mut Recording<'a>,
    output: &mut Output<'a>,
) -> (ThreadFacts, &'a [TaskSpan]) {
    let pid = recording.pid().unwrap_or(-1);
    // async-profiler's key is the thread id, so that it is known where the pool is missing.
    let key_is_tid = recording.settings.async_profiler && key != 0;
    let (tid, name) = match pools.thread(key) {
        Some(Thread { tid, name }) => (Some(tid), name),
        None => (key_is_tid.then_some(key as i64), None),
    };
    let name = name.as_deref();
    let (label, role) = match name {
        Some(name) => {
            let (label, role) = output.thread_name(name);
            (Some(label), role)
        }
        None => (None, "other"),
    };
    let spans = tid.map_or(&[][..], |tid| recording.spans.of_thread(pid, tid));
    if let Some(named) = name.and_then(task_of_thread)
        && recording.spans.knows(pid)
        && !spans
            .iter()
            .any(|span| span.task_attempt_id == named.task_attempt_id)
    {
        recording.seen.misnamed.extend(tid);
    }
    let facts = ThreadFacts {
        tid,
        name: label,
        role,
    };
    (facts, spans)
}
