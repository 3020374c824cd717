//! The event loop.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::account::{Now, SlotTime};
use crate::cluster::{self, Anchor, Executor, Places};
use crate::error::Result;
use crate::hosts::{Hosts, Moment, Running};
use crate::law::Law;
use crate::outcome::Outcome;
use crate::plan::{FAR, Node, Plan};
use crate::work::{Layout, Lengths, Progress, Work};

/// Tasks that wait, from which on it pays to see whether they follow one another.
const FEWEST_IN_A_RUSH: u32 = 4;

/// Schedules a plan on a cluster.
///
/// `pace` slows the tasks of a host down. `gauge` does not: it says how much work each task must
/// have had if its measured duration was under that law.
///
/// # Errors
/// If the plan or the cluster cannot be scheduled.
pub fn run(
    plan: &Plan,
    cluster: &[Executor],
    pace: Option<&Law>,
    gauge: Option<&Law>,
) -> Result<Outcome> {
    plan.check()?;
    let work = Work {
        plan,
        layout: &Layout::of(plan),
        lengths: &Lengths::of(plan),
        locality_wait_ns: plan.locality_wait_ns,
    };
    schedule(&work, cluster, pace, gauge)
}

/// Schedules what is checked already, on a cluster that is not.
pub(crate) fn schedule(
    work: &Work<'_>,
    cluster: &[Executor],
    pace: Option<&Law>,
    gauge: Option<&Law>,
) -> Result<Outcome> {
    cluster::check(cluster, work.plan)?;
    let mut engine = Engine::new(*work, cluster, pace, gauge);
    while !engine.is_over() {
        engine.step();
    }
    Ok(engine.outcome())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// The first running task of a host ends; the number is the version of its prediction.
    Ends(u32, u32),
    Ready(u32),
    Add(u32),
    Remove(u32),
    /// A task has waited long enough for a place that it prefers.
    Wake,
}

/// A schedule that is being made.
pub(crate) struct Engine<'a> {
    pub work: Work<'a>,
    cluster: &'a [Executor],
    /// Executors that come and go after each node: node and executor, in order.
    adds: Vec<(u32, u32)>,
    pub removes: Vec<(u32, u32)>,
    pub nodes: Vec<Progress>,
    /// Nodes with tasks that can be launched, in order.
    pub waiting: Vec<u32>,
    pub events: BinaryHeap<Reverse<(Moment, Event)>>,
    pub places: Places<'a>,
    pub hosts: Hosts<'a>,
    ended: Vec<(Running, f64)>,
    /// Nodes that are complete, in that order.
    pub completed: Vec<u32>,
    /// Work of each task under the gauged law; empty without one.
    gauged: Vec<f64>,
    pub now: f64,
    first_launch: Option<f64>,
    pub state: Now,
    slot_time: SlotTime,
}

impl<'a> Engine<'a> {
    /// Nothing is done, and the nodes that wait for none are about to begin.
    pub fn new(
        work: Work<'a>,
        cluster: &'a [Executor],
        pace: Option<&'a Law>,
        gauge: Option<&'a Law>,
    ) -> Self {
        let by_node = |anchor: fn(&Executor) -> Option<Anchor>| {
            let executors = cluster.iter().zip(0u32..);
            let mut found: Vec<_> = executors
                .filter_map(|(executor, number)| Some((anchor(executor)?.0, number)))
                .collect();
            found.sort_unstable();
            found
        };
        let hosts = cluster
            .iter()
            .map(|executor| executor.host + 1)
            .max()
            .unwrap_or(0);
        let tasks = work.lengths.duration_ns.len();
        let mut engine = Self {
            work,
            cluster,
            adds: by_node(|executor| Some(executor.add)),
            removes: by_node(|executor| executor.remove),
            nodes: Progress::start(&work),
            waiting: Vec::new(),
            events: BinaryHeap::new(),
            places: Places::new(cluster),
            hosts: Hosts::new(hosts, pace, gauge),
            ended: Vec::new(),
            completed: Vec::with_capacity(work.plan.nodes.len()),
            gauged: vec![0.0; if gauge.is_some() { tasks } else { 0 }],
            now: 0.0,
            first_launch: None,
            state: Now::default(),
            slot_time: SlotTime::default(),
        };
        for node in 0..engine.nodes.len() as u32 {
            if engine.nodes[node as usize].unmet == 0 {
                let delay = work.lengths.node_delay_ns[node as usize];
                engine.at(delay, Event::Ready(node));
            }
        }
        engine
    }

    /// Whether the plan's end is complete.
    pub fn is_over(&self) -> bool {
        self.nodes[self.work.plan.end as usize].complete.is_some()
    }

    /// Lets all happen that does at the next instant.
    pub fn step(&mut self) {
        if self.events.is_empty()
            && let Some(&node) = self.waiting.first()
        {
            let pool = self.work.plan.nodes[node as usize].pool;
            self.places.call_back(pool, self.now);
        }
        while let Some(Reverse((Moment(time), event))) = self.events.pop() {
            self.pass(time);
            self.happen(event);
            // Everything of one instant first, then the slots are given out.
            let next = self.events.peek();
            if next.is_none_or(|Reverse((next, _))| next.0 > time) {
                break;
            }
            if self.is_over() {
                return;
            }
        }
        self.dispatch();
        let (now, events) = (self.now, &mut self.events);
        self.hosts.upcoming(now, |host, version, time| {
            events.push(Reverse((Moment(time.max(now)), Event::Ends(host, version))));
        });
    }

    /// Lets tasks of a stage follow one another, as steps would, while that is all that happens:
    /// every slot is taken, and at each instant one task ends and the next one takes its place.
    ///
    /// Where the time went is not known any more.
    pub fn rush(&mut self) {
        let Some(&node) = self.waiting.first() else {
            return;
        };
        let (plan, layout, lengths) = (self.work.plan, self.work.layout, self.work.lengths);
        let Node { pool, near, .. } = &plan.nodes[node as usize];
        let end = layout.first[node as usize + 1];
        if self.nodes[node as usize].next + FEWEST_IN_A_RUSH > end || !self.is_full() {
            return;
        }
        while let Some(&Reverse((Moment(now), Event::Ends(host, version)))) = self.events.peek() {
            // Of a heap, the second is below the first.
            let mut others = self.events.as_slice().iter().skip(1).take(2);
            if others.any(|Reverse((other, _))| other.0 <= now)
                || !self.hosts.is_current(host, version)
            {
                return;
            }
            let Some((ended, done)) = self.hosts.ends_alone(host, now) else {
                return;
            };
            let progress = &self.nodes[node as usize];
            let (task, level) = (progress.next, progress.level);
            let of = layout.node_of[ended.task as usize];
            let plain = task < end
                && (level >= FAR || near.is_empty() && layout.level[task as usize] <= level)
                && self.nodes[of as usize].remaining > 1
                && layout.retried_by[ended.task as usize].is_none();
            if !plain || !self.places.passes_on(ended.executor, *pool, now) {
                return;
            }
            self.now = now;
            self.nodes[of as usize].remaining -= 1;
            self.state.pending -= 1;
            let progress = &mut self.nodes[node as usize];
            progress.level_since = now;
            progress.next = layout.unforced(node, task + 1);
            if progress.next == end {
                self.waiting.remove(0);
            }
            let work = lengths.duration_ns[task as usize];
            let (version, time) = self.hosts.follow(host, now, done, task, work);
            if let Some(mut first) = self.events.peek_mut() {
                *first = Reverse((Moment(time.max(now)), Event::Ends(host, version)));
            }
        }
    }

    /// Whether no slot is free that a task waits for, and nothing is tried again.
    fn is_full(&self) -> bool {
        let full = |&node: &u32| {
            let progress = &self.nodes[node as usize];
            let pool = self.work.plan.nodes[node as usize].pool;
            // What was refused does not count where tasks may go anywhere.
            (!progress.refused || progress.level >= FAR)
                && progress.retries.is_empty()
                && !self.places.has_free(pool)
        };
        self.hosts.is_lawless() && self.waiting.iter().all(full)
    }

    fn at(&mut self, time: f64, event: Event) {
        self.events.push(Reverse((Moment(time), event)));
    }

    fn pass(&mut self, time: f64) {
        self.state.alive = self.places.alive;
        self.slot_time.pass(time - self.now, self.state);
        self.now = time;
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Ends(host, version) => {
                if self.hosts.is_current(host, version) {
                    let mut ended = std::mem::take(&mut self.ended);
                    self.hosts.finish(host, self.now, &mut ended);
                    for (task, gauged) in ended.drain(..) {
                        self.end_task(task, gauged);
                    }
                    self.ended = ended;
                }
            }
            Event::Ready(node) => self.start(node),
            Event::Add(executor) => self.places.add(executor, self.now),
            Event::Remove(executor) => {
                let tasks_wait = self.tasks_wait_for(executor);
                self.places.remove(executor, tasks_wait);
            }
            Event::Wake => {}
        }
    }

    fn start(&mut self, node: u32) {
        let progress = &mut self.nodes[node as usize];
        progress.submit = Some(self.now);
        progress.level_since = self.now;
        if progress.remaining == 0 {
            self.complete(node);
            return;
        }
        self.state.active += 1;
        self.state.planned += progress.remaining as u64;
        self.state.pending += progress.remaining as u64;
        self.wait(node);
    }

    /// Tasks of a node can be launched.
    fn wait(&mut self, node: u32) {
        if let Err(place) = self.waiting.binary_search(&node) {
            self.waiting.insert(place, node);
        }
    }

    fn complete(&mut self, node: u32) {
        self.nodes[node as usize].complete = Some(self.now);
        self.completed.push(node);
        let layout = self.work.layout;
        for &next in layout.dependants(node) {
            let progress = &mut self.nodes[next as usize];
            progress.unmet -= 1;
            progress.released_by = Some(node);
            if progress.unmet == 0 {
                let delay = self.work.lengths.node_delay_ns[next as usize];
                self.at(self.now + delay, Event::Ready(next));
            }
        }
        let of = |all: &[(u32, u32)]| {
            let first = all.partition_point(|&(other, _)| other < node);
            let last = all.partition_point(|&(other, _)| other <= node);
            first..last
        };
        for index in of(&self.adds) {
            let executor = self.adds[index].1;
            let after = self.cluster[executor as usize].add.1;
            self.at(self.now + after, Event::Add(executor));
        }
        for index in of(&self.removes) {
            let executor = self.removes[index].1;
            let remove = self.cluster[executor as usize].remove;
            let after = remove.map_or(0.0, |anchor| anchor.1);
            self.at(self.now + after, Event::Remove(executor));
        }
    }

    fn dispatch(&mut self) {
        let layout = self.work.layout;
        let mut at = 0;
        while let Some(&node) = self.waiting.get(at) {
            let end = layout.first[node as usize + 1];
            loop {
                let Some(task) = self.nodes[node as usize].upcoming(end) else {
                    self.waiting.remove(at);
                    break;
                };
                let Some((executor, level)) = self.place_for(node, task) else {
                    at += 1;
                    break;
                };
                let progress = &mut self.nodes[node as usize];
                if progress.retries.pop().is_none() {
                    progress.next = layout.unforced(node, task + 1);
                }
                self.launch(node, task, executor, level);
            }
        }
    }

    /// A slot for a task, and how far from its data that is. Where every free one is further than
    /// tasks of the node may go yet, they wait.
    fn place_for(&mut self, node: u32, task: u32) -> Option<(u32, u8)> {
        let work = self.work;
        let Node { pool, near, .. } = &work.plan.nodes[node as usize];
        let level = work.layout.level[task as usize];
        let progress = &mut self.nodes[node as usize];
        let until = progress.level_since + work.locality_wait_ns;
        let allowed = if self.now >= until {
            FAR
        } else {
            progress.level
        };
        if level <= allowed
            && let Some(executor) = self.places.take(*pool, near)
        {
            return Some((executor, level));
        }
        if allowed >= FAR {
            let executor = self.places.take(*pool, &[])?;
            return Some((executor, FAR));
        }
        progress.refused = self.places.has_free(*pool);
        if progress.refused && progress.woken < until {
            progress.woken = until;
            self.at(until, Event::Wake);
        }
        None
    }

    fn launch(&mut self, node: u32, task: u32, executor: u32, level: u8) {
        let host = self.cluster[executor as usize].host;
        let load = self.work.plan.nodes[node as usize].load;
        let length = self.work.lengths.duration_ns[task as usize];
        self.hosts
            .launch(host, self.now, (task, executor), length, load);
        let progress = &mut self.nodes[node as usize];
        // Spark calls a task without any preference as near as can be: a level never falls again.
        progress.level = progress.level.max(level);
        if self.work.plan.launch_resets_wait || !progress.refused {
            progress.level_since = self.now;
        }
        self.first_launch.get_or_insert(self.now);
        self.state.running += 1;
        self.state.pending -= 1;
    }

    fn end_task(&mut self, ended: Running, gauged: f64) {
        let Running { task, executor, .. } = ended;
        let node = self.work.layout.node_of[task as usize];
        let host = self.cluster[executor as usize].host;
        let load = self.work.plan.nodes[node as usize].load;
        self.hosts.unload(host, load);
        if let Some(work) = self.gauged.get_mut(task as usize) {
            *work = gauged;
        }
        self.charge(ended.launched, task);
        self.state.running -= 1;
        if let Some(retry) = self.work.layout.retried_by[task as usize] {
            self.nodes[node as usize].retries.push(retry);
            self.wait(node);
        }
        let tasks_wait = self.tasks_wait_for(executor);
        self.places.give_back(executor, self.now, tasks_wait);
        let progress = &mut self.nodes[node as usize];
        progress.remaining -= 1;
        if progress.remaining == 0 {
            self.state.active -= 1;
            self.state.planned -= u64::from(self.work.layout.tasks_count(node));
            self.complete(node);
        }
    }

    /// Whether work keeps an executor that dynamic allocation gives up.
    fn tasks_wait_for(&self, executor: u32) -> bool {
        let Executor { dynamic, pool, .. } = self.cluster[executor as usize];
        let needs = |&node: &u32| self.work.plan.nodes[node as usize].pool == pool;
        dynamic && self.waiting.iter().any(needs)
    }

    fn charge(&mut self, since: f64, task: u32) {
        let (task, lengths) = (task as usize, self.work.lengths);
        let delay = if lengths.duration_ns[task] > 0.0 {
            (lengths.delay_ns[task] / lengths.duration_ns[task]).min(1.0)
        } else {
            0.0
        };
        let wasted = self.work.layout.wasted[task];
        self.slot_time.ended(self.now - since, wasted, delay);
    }

    fn outcome(mut self) -> Outcome {
        // What the end does not wait for may still be running.
        for one in self.hosts.running() {
            self.charge(one.launched, one.task);
        }
        let nodes = self.nodes;
        Outcome {
            elapsed_ns: self.now,
            first_launch_ns: self.first_launch,
            submit_ns: nodes.iter().map(|node| node.submit).collect(),
            complete_ns: nodes.iter().map(|node| node.complete).collect(),
            released_by: nodes.iter().map(|node| node.released_by).collect(),
            slot_time: self.slot_time,
            kept_executors_count: self.places.kept,
            work_ns: self.gauged,
        }
    }
}
