//! Schedules that are mostly known: only what a change touches is scheduled again.
//!
//! At a *quiet* instant no task runs or waits, and all executors are there for good. What comes
//! then depends on which nodes are complete and which are about to begin, not on how it came to
//! that. So where a plan differs from a known one in some nodes, and meets a quiet instant of the
//! known schedule, all up to the part with the next such node passes as it did there: it is leapt
//! over. What comes before the first different node and what comes after the last are two cases of
//! that.
//!
//! The result is that of the whole schedule to the last bit. It is leapt only where every sum of
//! times is exact, whatever instant it begins at: where all times are multiples of a power of two,
//! and below 2⁵³ of it.

use std::cmp::Reverse;

use crate::cluster::Executor;
use crate::engine::{Engine, Event};
use crate::hosts::{Moment, is_multiple};
use crate::work::{Layout, Lengths, Work};

#[cfg(test)]
mod tests;

/// A schedule that is known, cut into parts at its quiet instants.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    elapsed_ns: f64,
    quiet: Vec<Quiet>,
    /// Nodes that are complete, in that order.
    order: Vec<u32>,
    /// Place of each node in that order; none: the end came before.
    rank: Vec<Option<usize>>,
    /// Of the nodes that each node waited for, the one that was complete last.
    released_by: Vec<Option<u32>>,
    /// When each host was last looked at in a part: the part, and the time.
    looked: Vec<Vec<(usize, f64)>>,
    /// The latest time that was reckoned with.
    furthest: f64,
    /// All times are multiples of it, which is a power of two; 0: sums of them are not exact.
    unit: f64,
}

/// What is so at a quiet instant.
#[derive(Debug, Clone)]
struct Quiet {
    time: f64,
    /// Nodes that are complete.
    done: usize,
    /// What is to come, in order, and in what time.
    upcoming: Vec<(Moment, Event)>,
    /// The latest time that was reckoned with up to then.
    furthest: f64,
}

/// Nodes in which a plan differs from a known one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Changed {
    /// Those with other tasks, or other times of them.
    pub tasks: Vec<u32>,
    /// Those before which the driver takes another time.
    pub delays: Vec<u32>,
}

impl Changed {
    /// Finds them, where both plans have the same tasks.
    pub fn between(layout: &Layout, known: &Lengths, now: &Lengths) -> Self {
        let nodes = 0..known.node_delay_ns.len();
        let other_tasks = |&node: &usize| {
            let mine = layout.first[node] as usize..layout.first[node + 1] as usize;
            known.duration_ns[mine.clone()] != now.duration_ns[mine]
        };
        let other_delay = |&node: &usize| known.node_delay_ns[node] != now.node_delay_ns[node];
        Self {
            tasks: nodes
                .clone()
                .filter(other_tasks)
                .map(|n| n as u32)
                .collect(),
            delays: nodes.filter(other_delay).map(|n| n as u32).collect(),
        }
    }
}

impl Known {
    /// Makes a schedule of a checked plan on a checked cluster, and remembers it.
    pub fn of(work: &Work<'_>, cluster: &[Executor]) -> Self {
        let mut engine = Engine::new(*work, cluster, None, None);
        let mut quiet: Vec<Quiet> = Vec::new();
        let mut looked = vec![Vec::new(); engine.hosts.updated().count()];
        while !engine.is_over() {
            engine.step();
            engine.rush();
            let (time, done) = (engine.now, engine.completed.len());
            if !engine.is_quiet() || quiet.last().is_some_and(|last| last.done == done) {
                continue;
            }
            if let Some(last) = quiet.last() {
                for (host, updated) in looked.iter_mut().zip(engine.hosts.updated()) {
                    if updated > last.time {
                        host.push((quiet.len() - 1, updated));
                    }
                }
            }
            let upcoming = engine.upcoming();
            let latest = upcoming.last().map_or(time, |(last, _)| time.max(last.0));
            let before = quiet.last().map_or(0.0, |last| last.furthest);
            let upcoming = upcoming.into_iter();
            quiet.push(Quiet {
                time,
                done,
                upcoming: upcoming
                    .map(|(at, event)| (Moment(at.0 - time), event))
                    .collect(),
                furthest: latest.max(before),
            });
        }
        let mut rank = vec![None; work.plan.nodes.len()];
        for (place, &node) in engine.completed.iter().enumerate() {
            rank[node as usize] = Some(place);
        }
        let times = work.lengths.node_delay_ns.iter();
        let times = times.chain(&work.lengths.duration_ns);
        let times = times.chain(cluster.iter().map(|executor| &executor.add.1));
        let unit = times.fold(unit_of(work.locality_wait_ns), |unit, &time| {
            unit.min(unit_of(time))
        });
        let furthest = quiet.last().map_or(0.0, |last| last.furthest);
        let furthest = furthest.max(engine.now);
        Self {
            elapsed_ns: engine.now,
            furthest,
            quiet,
            rank,
            released_by: engine.nodes.iter().map(|node| node.released_by).collect(),
            order: engine.completed,
            looked,
            unit: if spacing(furthest) <= unit { unit } else { 0.0 },
        }
    }

    /// The elapsed time of a plan that differs in some nodes, on the same cluster.
    pub fn elapsed_ns(&self, work: &Work<'_>, cluster: &[Executor], changed: &Changed) -> f64 {
        self.follow(Engine::new(*work, cluster, None, None), changed)
            .0
    }

    /// Makes the schedule; gives also how often it was leapt.
    fn follow(&self, mut engine: Engine<'_>, changed: &Changed) -> (f64, usize) {
        let parts = self.parts(changed);
        // Nodes that were looked at, and the first place in the known order behind all of them.
        let (mut seen, mut behind) = (0, 0);
        let mut leaps = 0;
        while !engine.is_over() {
            engine.step();
            engine.rush();
            if !engine.is_quiet() {
                continue;
            }
            for &node in &engine.completed[seen..] {
                behind = behind.max(self.rank[node as usize].map_or(usize::MAX, |rank| rank + 1));
            }
            seen = engine.completed.len();
            if behind != seen {
                continue;
            }
            let Ok(here) = self.quiet.binary_search_by_key(&seen, |quiet| quiet.done) else {
                continue;
            };
            let next = parts.partition_point(|&part| part < here);
            let wanted = parts.get(next).copied().unwrap_or(self.quiet.len());
            if let Some(there) = self.reach(&engine, here, wanted) {
                leaps += 1;
                let time = engine.now + (self.time(there) - self.quiet[here].time);
                let Some(quiet) = self.quiet.get(there) else {
                    return (time, leaps);
                };
                for host in 0..self.looked.len() {
                    let looked = self.looked(host, here, there);
                    if looked > 0.0 {
                        let updated = engine.now + (looked - self.quiet[here].time);
                        engine.hosts.advance(host as u32, updated);
                    }
                }
                engine.leap(time, &self.order[seen..quiet.done], &quiet.upcoming);
                (seen, behind) = (quiet.done, quiet.done);
            }
        }
        (engine.now, leaps)
    }

    /// The parts in which anything is different, in order.
    fn parts(&self, changed: &Changed) -> Vec<usize> {
        let last = self.quiet.len().wrapping_sub(1);
        let part = |rank: usize| self.quiet.partition_point(|quiet| quiet.done <= rank);
        // What is not complete at the end began behind the last quiet instant.
        let of_tasks = |&node: &u32| match self.rank[node as usize] {
            Some(rank) => part(rank).checked_sub(1),
            None => Some(last),
        };
        let of_delay = |&node: &u32| {
            let before = self.released_by[node as usize]?;
            part(self.rank[before as usize]?).checked_sub(1)
        };
        let mut found: Vec<usize> = changed.tasks.iter().filter_map(of_tasks).collect();
        found.extend(changed.delays.iter().filter_map(of_delay));
        found.sort_unstable();
        found.dedup();
        found
    }

    /// When a part begins; behind the last one, the end.
    fn time(&self, part: usize) -> f64 {
        self.quiet.get(part).map_or(self.elapsed_ns, |one| one.time)
    }

    /// The part to leap to from the beginning of another, and not beyond a third; none: the engine
    /// is not where that part began, or sums would not be exact.
    fn reach(&self, engine: &Engine<'_>, here: usize, wanted: usize) -> Option<usize> {
        if here >= wanted {
            return None;
        }
        let (from, now) = (&self.quiet[here], engine.now);
        let upcoming = engine.upcoming();
        let same = upcoming.len() == from.upcoming.len()
            && upcoming
                .iter()
                .zip(&from.upcoming)
                .all(|(mine, known)| mine.0.0 - now == known.0.0 && mine.1 == known.1);
        if !same {
            return None;
        }
        let furthest = |part: usize| {
            let known = self
                .quiet
                .get(part)
                .map_or(self.furthest, |one| one.furthest);
            now + (known - from.time)
        };
        let exact = |there: usize| {
            let unit = spacing(furthest(there));
            let mut hosts = 0..self.looked.len();
            unit <= self.unit
                && is_multiple(now, unit)
                && upcoming.iter().all(|(at, _)| is_multiple(at.0, unit))
                && hosts.all(|host| {
                    self.looked(host, here, there) == 0.0 || engine.hosts.is_multiple(host, unit)
                })
        };
        if exact(wanted) {
            return Some(wanted);
        }
        // Up to where numbers are as finely spaced as they are here.
        let (mut there, mut beyond) = (here, wanted);
        while there + 1 < beyond {
            let middle = there.midpoint(beyond);
            if spacing(furthest(middle)) <= spacing(furthest(here)) {
                there = middle;
            } else {
                beyond = middle;
            }
        }
        (there > here && exact(there)).then_some(there)
    }

    /// When a host was last looked at between the beginnings of two parts; 0: it was not.
    fn looked(&self, host: usize, here: usize, there: usize) -> f64 {
        let until = self.looked[host].partition_point(|&(part, _)| part < there);
        let last = self.looked[host][..until].last();
        last.map_or(0.0, |&(part, time)| if part >= here { time } else { 0.0 })
    }
}

impl Engine<'_> {
    /// Whether no task runs or waits, and all executors are there for good.
    fn is_quiet(&self) -> bool {
        self.state.running == 0
            && self.waiting.is_empty()
            && self.removes.is_empty()
            && self.places.are_all_there()
    }

    /// What is to come, in order.
    fn upcoming(&self) -> Vec<(Moment, Event)> {
        let mut found: Vec<_> = self.events.iter().map(|&Reverse(one)| one).collect();
        found.sort_unstable();
        found
    }

    /// Goes to another quiet instant: so many more nodes are complete, and this is to come.
    ///
    /// Hosts are left as they are, and where the time went is not known any more.
    fn leap(&mut self, now: f64, completed: &[u32], upcoming: &[(Moment, Event)]) {
        for &node in completed {
            self.nodes[node as usize].complete = Some(now);
            for &next in self.work.layout.dependants(node) {
                let progress = &mut self.nodes[next as usize];
                progress.unmet -= 1;
                progress.released_by = Some(node);
            }
        }
        self.completed.extend_from_slice(completed);
        self.events.clear();
        let later = upcoming.iter();
        let later = later.map(|&(after, event)| Reverse((Moment(now + after.0), event)));
        self.events.extend(later);
        self.now = now;
    }
}

/// The largest power of two that a time is a multiple of; of 0, infinity.
fn unit_of(time: f64) -> f64 {
    if time == 0.0 {
        return f64::INFINITY;
    }
    let bits = time.to_bits();
    let zeros = bits.trailing_zeros().min(52);
    // What the lowest digit that is set stands for: the difference to the same without it.
    if zeros == 52 {
        return f64::from_bits(bits & !((1 << 52) - 1));
    }
    time - f64::from_bits(bits & !(1 << zeros))
}

/// How far apart numbers are that are as large as a time.
fn spacing(time: f64) -> f64 {
    time.next_up() - time
}
