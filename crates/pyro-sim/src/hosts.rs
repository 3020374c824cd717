//! Running tasks, which slow one another down on their host.
//!
//! All tasks of a host progress at one rate, so a task ends when the host's progress has grown by
//! the task's work: one clock of progress a host, instead of one a task.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::law::Law;

/// A number that can be ordered; never NaN here.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Moment(pub f64);

impl Eq for Moment {}

impl PartialOrd for Moment {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Moment {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Whether a time is a whole number of units, each a power of two.
pub(crate) fn is_multiple(time: f64, unit: f64) -> bool {
    (time / unit).fract() == 0.0
}

/// A running task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Running {
    /// Progress of its host at which it ends.
    ends: Moment,
    pub task: u32,
    pub executor: u32,
    /// When it was launched, and the gauge of its host then.
    pub launched: f64,
    gauge: f64,
}

impl Running {
    fn order(&self) -> (Moment, u32, u32) {
        (self.ends, self.task, self.executor)
    }
}

impl PartialEq for Running {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl Eq for Running {}

impl PartialOrd for Running {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Running {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}

/// Progress and running tasks of one host.
#[derive(Debug, Default)]
struct Host {
    /// The first to end first.
    running: BinaryHeap<Reverse<Running>>,
    load: f64,
    progress: f64,
    /// Progress as a law that does not pace the tasks would have it.
    gauge: f64,
    updated: f64,
    version: u32,
    changed: bool,
}

/// All hosts, under one law.
pub(crate) struct Hosts<'a> {
    hosts: Vec<Host>,
    pace: Option<&'a Law>,
    gauge: Option<&'a Law>,
    changed: Vec<u32>,
}

impl<'a> Hosts<'a> {
    /// Hosts whose tasks are paced by a law; a second law may be gauged meanwhile.
    pub fn new(count: u32, pace: Option<&'a Law>, gauge: Option<&'a Law>) -> Self {
        let hosts = (0..count).map(|_| Host::default()).collect();
        Self {
            hosts,
            pace,
            gauge,
            changed: Vec::new(),
        }
    }

    /// Starts a task on an executor.
    pub fn launch(
        &mut self,
        host: u32,
        now: f64,
        (task, executor): (u32, u32),
        work: f64,
        load: f64,
    ) {
        self.advance(host, now);
        let place = &mut self.hosts[host as usize];
        place.running.push(Reverse(Running {
            ends: Moment(place.progress + work),
            task,
            executor,
            launched: now,
            gauge: place.gauge,
        }));
        place.load += load;
        self.note_change(host);
    }

    /// Ends the tasks that are done now; gives them, each with what the gauge grew by meanwhile.
    pub fn finish(&mut self, host: u32, now: f64, done: &mut Vec<(Running, f64)>) {
        self.advance(host, now);
        let place = &mut self.hosts[host as usize];
        // The first one is done by definition, whatever rounding says.
        if let Some(Reverse(first)) = place.running.peek() {
            place.progress = place.progress.max(first.ends.0);
        }
        while let Some(&Reverse(first)) = place.running.peek() {
            if first.ends.0 > place.progress {
                break;
            }
            place.running.pop();
            done.push((first, place.gauge - first.gauge));
        }
        self.note_change(host);
    }

    /// The task that ends on a host at an instant, and the progress of its host then; none where
    /// several do. For hosts without a law.
    pub fn ends_alone(&self, host: u32, now: f64) -> Option<(Running, f64)> {
        let place = &self.hosts[host as usize];
        let running = place.running.as_slice();
        let &Reverse(first) = running.first()?;
        let progress = (place.progress + (now - place.updated)).max(first.ends.0);
        // Of a heap, the second is below the first.
        let later = |&Reverse(other): &Reverse<Running>| other.ends.0 > progress;
        let alone = running.iter().skip(1).take(2).all(later);
        alone.then_some((first, progress))
    }

    /// Lets another task take the place of the one that [`Hosts::ends_alone`] gave; gives the
    /// version and the time of what ends next.
    pub fn follow(
        &mut self,
        host: u32,
        now: f64,
        progress: f64,
        task: u32,
        work: f64,
    ) -> (u32, f64) {
        let place = &mut self.hosts[host as usize];
        place.progress = progress;
        place.updated = now;
        place.version += 1;
        if let Some(mut first) = place.running.peek_mut() {
            first.0.ends = Moment(progress + work);
            first.0.task = task;
            first.0.launched = now;
        }
        let ends = place
            .running
            .peek()
            .map_or(progress, |first| first.0.ends.0);
        (place.version, now + (ends - progress).max(0.0))
    }

    /// Whether tasks take as long whatever else runs.
    pub fn is_lawless(&self) -> bool {
        self.pace.is_none() && self.gauge.is_none()
    }

    /// Tasks that run anywhere, in order.
    pub fn running(&self) -> Vec<Running> {
        let each = self.hosts.iter().flat_map(|host| &host.running);
        let mut found: Vec<Running> = each.map(|&Reverse(one)| one).collect();
        found.sort_unstable_by_key(|one| one.task);
        found
    }

    /// Takes the load of an ended task away.
    pub fn unload(&mut self, host: u32, load: f64) {
        let place = &mut self.hosts[host as usize];
        // Sums of fractions leave dust: none runs, none loads.
        place.load = if place.running.is_empty() {
            0.0
        } else {
            (place.load - load).max(0.0)
        };
    }

    /// When the next task of each host that changed ends: host, version, time.
    pub fn upcoming(&mut self, now: f64, mut emit: impl FnMut(u32, u32, f64)) {
        while let Some(host) = self.changed.pop() {
            let place = &mut self.hosts[host as usize];
            place.changed = false;
            place.version += 1;
            if let Some(Reverse(first)) = place.running.peek() {
                let remaining = (first.ends.0 - place.progress).max(0.0);
                let slowdown = self.pace.map_or(1.0, |law| law.at(place.load));
                emit(host, place.version, now + remaining * slowdown);
            }
        }
    }

    /// Whether a prediction for a host still holds.
    pub fn is_current(&self, host: u32, version: u32) -> bool {
        self.hosts[host as usize].version == version
    }

    fn note_change(&mut self, host: u32) {
        let place = &mut self.hosts[host as usize];
        if !place.changed {
            place.changed = true;
            self.changed.push(host);
        }
    }

    /// When each host was last looked at.
    pub fn updated(&self) -> impl Iterator<Item = f64> {
        self.hosts.iter().map(|host| host.updated)
    }

    /// Whether progress and time of a host are multiples of a unit, and it is not ahead of time.
    pub fn is_multiple(&self, host: usize, unit: f64) -> bool {
        let Host {
            progress, updated, ..
        } = self.hosts[host];
        progress <= updated && is_multiple(progress, unit) && is_multiple(updated, unit)
    }

    /// Lets the tasks of a host progress until an instant.
    pub fn advance(&mut self, host: u32, now: f64) {
        let place = &mut self.hosts[host as usize];
        let passed = now - place.updated;
        place.progress += match self.pace {
            Some(law) => passed / law.at(place.load),
            None => passed,
        };
        if let Some(law) = self.gauge {
            place.gauge += passed / law.at(place.load);
        }
        place.updated = now;
    }
}
