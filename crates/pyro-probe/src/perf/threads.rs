//! Counters of the followed threads: opened at first sight, read where a thread ran, read a last
//! time after it ended (an open counter outlives its thread), closed.

use std::collections::{BTreeMap, BTreeSet};

use crate::perf::events::Group;
use crate::perf::format::{self, Times};
use crate::perf::kernel::{Kernel, Target};
use crate::perf::rows::{Count, Emit, Kept, Row};
use crate::sys::Descriptors;

/// Threads whose counters are read in one pass at most; the others have their turn in the next one.
const THREADS_PER_PASS: usize = 64;
const SCOPE: &str = "thread";

type Key = (i32, i32);

/// An open group.
#[derive(Debug)]
struct Open<H> {
    /// Index in the plan.
    group: usize,
    leader: H,
    /// Counters end when their descriptors are closed.
    _members: Vec<H>,
    kept: Vec<Kept>,
}

#[derive(Debug)]
struct Thread<H> {
    open: Vec<Open<H>>,
    descriptors: usize,
}

/// Figures for the report.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Figures {
    /// Threads whose counters were opened.
    pub threads: u64,
    /// Threads that had ended before, or may not be counted.
    pub refused: u64,
    /// Threads that got fewer groups than the others, or none, as the limit of open files was reached.
    pub beyond_limit: u64,
    /// Readings of a group.
    pub readings: u64,
    /// Groups that were to stay on the hardware and lost their place to others.
    pub displaced: u64,
}

/// Counters of threads.
#[derive(Debug)]
pub struct Threads<K: Kernel> {
    plan: Vec<Group>,
    descriptors: Descriptors,
    threads: BTreeMap<Key, Thread<K::Handle>>,
    ran: BTreeSet<Key>,
    ran_slow: BTreeSet<Key>,
    next: Key,
    /// Figures so far.
    pub figures: Figures,
    buffer: Vec<u8>,
    values: Vec<i64>,
}

impl<K: Kernel> Threads<K> {
    /// Counts by the groups of a plan.
    pub fn new(plan: Vec<Group>, descriptors: &Descriptors) -> Self {
        let most = plan
            .iter()
            .map(|group| group.events.len())
            .max()
            .unwrap_or(0);
        Self {
            plan,
            descriptors: descriptors.clone(),
            threads: BTreeMap::new(),
            ran: BTreeSet::new(),
            ran_slow: BTreeSet::new(),
            next: (0, 0),
            figures: Figures::default(),
            buffer: vec![0; format::group_bytes(most)],
            values: Vec::new(),
        }
    }

    /// Takes note of a thread: `first` opens its counters, `last` reads and closes them, else it ran.
    pub fn seen(
        &mut self,
        kernel: &mut K,
        key: Key,
        now: i64,
        first: bool,
        last: bool,
        emit: &mut Emit,
    ) {
        if first && !self.threads.contains_key(&key) {
            self.open(kernel, key);
            self.read(kernel, key, true, now, emit);
        } else if last {
            self.close(kernel, key, now, emit);
        } else if self.threads.contains_key(&key) {
            if self.plan.iter().any(|group| group.fast) {
                self.ran.insert(key);
            }
            self.ran_slow.insert(key);
        }
    }

    fn open(&mut self, kernel: &mut K, key: Key) {
        let mut thread = Thread {
            open: Vec::new(),
            descriptors: 0,
        };
        let mut room = true;
        for (index, group) in self.plan.iter().enumerate() {
            let count = group.events.len();
            room = self.descriptors.take(count);
            if !room {
                self.figures.beyond_limit += 1;
                break;
            }
            let Some(open) = open_group(kernel, group, index, key.1) else {
                self.descriptors.give_back(count);
                continue;
            };
            thread.descriptors += count;
            thread.open.push(open);
        }
        if thread.open.is_empty() {
            self.figures.refused += u64::from(room && !self.plan.is_empty());
            return;
        }
        self.figures.threads += 1;
        self.threads.insert(key, thread);
    }

    /// Reads the threads that ran: the fast groups, with `slow` all of them.
    pub fn pass(&mut self, kernel: &mut K, slow: bool, clock: impl Fn() -> i64, emit: &mut Emit) {
        let due = if slow { &self.ran_slow } else { &self.ran };
        let turn: Vec<Key> = due
            .range(self.next..)
            .chain(due.range(..self.next))
            .take(THREADS_PER_PASS)
            .copied()
            .collect();
        for key in turn {
            self.ran.remove(&key);
            if slow {
                self.ran_slow.remove(&key);
            }
            self.read(kernel, key, slow, clock(), emit);
            self.next = (key.0, key.1.saturating_add(1));
        }
    }

    fn read(&mut self, kernel: &mut K, key: Key, all: bool, now: i64, emit: &mut Emit) {
        let Some(thread) = self.threads.get_mut(&key) else {
            return;
        };
        for open in &mut thread.open {
            let group = &self.plan[open.group];
            if !(all || group.fast) {
                continue;
            }
            self.figures.readings += 1;
            let mut got = kernel.read(&open.leader, &mut self.buffer);
            if let Ok(0) = got {
                // It was to stay on the hardware and could not: it takes turns from now on.
                self.figures.displaced += 1;
                let mut turns = group.clone();
                turns
                    .events
                    .iter_mut()
                    .for_each(|event| event.attr.pinned = false);
                open.end(group, key, emit);
                if let Some(again) = open_group(kernel, &turns, open.group, key.1) {
                    *open = again;
                    got = kernel.read(&open.leader, &mut self.buffer);
                }
            }
            let Ok(length) = got else { continue };
            let bytes = &self.buffer[..length.min(self.buffer.len())];
            if let Some(times) = format::group(bytes, group.events.len(), &mut self.values) {
                open.take(group, key, now, times, &self.values, emit);
            }
        }
    }

    fn close(&mut self, kernel: &mut K, key: Key, now: i64, emit: &mut Emit) {
        self.read(kernel, key, true, now, emit);
        self.ran.remove(&key);
        self.ran_slow.remove(&key);
        if let Some(mut thread) = self.threads.remove(&key) {
            for open in &mut thread.open {
                open.end(&self.plan[open.group], key, emit);
            }
            self.descriptors.give_back(thread.descriptors);
        }
    }

    /// Reads and closes all.
    pub fn finish(&mut self, kernel: &mut K, clock: impl Fn() -> i64, emit: &mut Emit) {
        let keys: Vec<Key> = self.threads.keys().copied().collect();
        for key in keys {
            self.close(kernel, key, clock(), emit);
        }
    }
}

fn open_group<K: Kernel>(
    kernel: &mut K,
    group: &Group,
    index: usize,
    tid: i32,
) -> Option<Open<K::Handle>> {
    let target = Target::Thread(tid);
    let (first, others) = group.events.split_first()?;
    let leader = kernel.open(&first.attr, target, None).ok()?;
    let mut members = Vec::with_capacity(others.len());
    for event in others {
        // Half a group could not be distinguished from a whole one.
        members.push(kernel.open(&event.attr, target, Some(&leader)).ok()?);
    }
    let kept = group.events.iter().map(|_| Kept::default()).collect();
    Some(Open {
        group: index,
        leader,
        _members: members,
        kept,
    })
}

impl<H> Open<H> {
    fn take(
        &mut self,
        group: &Group,
        key: Key,
        now: i64,
        times: Times,
        values: &[i64],
        emit: &mut Emit,
    ) {
        for ((kept, event), &value) in self.kept.iter_mut().zip(&group.events).zip(values) {
            let count = Count {
                value: (value as f64 * event.factor).round() as i64,
                enabled_ns: times.enabled_ns,
                running_ns: times.running_ns,
            };
            // A count beyond 2^53 is not sent through a float that would round it.
            let count = if event.factor == 1.0 {
                Count { value, ..count }
            } else {
                count
            };
            kept.take(now, count, &mut |t, count| {
                emit(row(key, event.name, t, count))
            });
        }
    }

    fn end(&mut self, group: &Group, key: Key, emit: &mut Emit) {
        for (kept, event) in self.kept.iter_mut().zip(&group.events) {
            kept.end(&mut |t, count| emit(row(key, event.name, t, count)));
        }
    }
}

fn row(key: Key, event: &'static str, t_mono_ns: i64, count: Count) -> Row<'static> {
    Row {
        t_mono_ns,
        scope: SCOPE,
        thread: Some(key),
        event,
        count,
    }
}
