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

/// Progress and running tasks of one host.
#[derive(Debug, Default)]
struct Host {
    /// Progress at which a task ends, the task, and its executor.
    running: BinaryHeap<Reverse<(Moment, u32, u32)>>,
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

    /// Starts a task on an executor; gives the gauge at its start.
    pub fn launch(
        &mut self,
        host: u32,
        now: f64,
        (task, executor): (u32, u32),
        work: f64,
        load: f64,
    ) -> f64 {
        self.advance(host, now);
        let place = &mut self.hosts[host as usize];
        let ends = place.progress + work;
        place.running.push(Reverse((Moment(ends), task, executor)));
        place.load += load;
        let gauge = place.gauge;
        self.note_change(host);
        gauge
    }

    /// Ends the tasks that are done now; gives them and their executors, and the gauge at their end.
    pub fn finish(&mut self, host: u32, now: f64, done: &mut Vec<(u32, u32)>) -> f64 {
        self.advance(host, now);
        let place = &mut self.hosts[host as usize];
        // The first one is done by definition, whatever rounding says.
        if let Some(&Reverse((Moment(ends), ..))) = place.running.peek() {
            place.progress = place.progress.max(ends);
        }
        while let Some(&Reverse((Moment(ends), task, executor))) = place.running.peek() {
            if ends > place.progress {
                break;
            }
            place.running.pop();
            done.push((task, executor));
        }
        let gauge = place.gauge;
        self.note_change(host);
        gauge
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
            if let Some(&Reverse((Moment(ends), ..))) = place.running.peek() {
                let remaining = (ends - place.progress).max(0.0);
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

    fn advance(&mut self, host: u32, now: f64) {
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
