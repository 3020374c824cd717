//! The event loop.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use crate::account::{Now, SlotTime};
use crate::cluster::{self, Executor, Places};
use crate::error::Result;
use crate::hosts::{Hosts, Moment};
use crate::law::Law;
use crate::outcome::Outcome;
use crate::plan::{FAR, Node, Plan, Task};
use crate::work::{Progress, Work};

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
    cluster::check(cluster, plan)?;
    let mut engine = Engine::new(plan, cluster, pace, gauge);
    engine.go();
    Ok(engine.outcome(gauge.is_some()))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The first running task of a host ends; the number is the version of its prediction.
    Ends(u32, u32),
    Ready(u32),
    Add(u32),
    Remove(u32),
    /// A task has waited long enough for a place that it prefers.
    Wake,
}

struct Engine<'a> {
    plan: &'a Plan,
    cluster: &'a [Executor],
    tasks: Vec<(u32, Task)>,
    retried_by: Vec<Option<u32>>,
    dependants: Vec<Vec<u32>>,
    adds: Vec<Vec<u32>>,
    removes: Vec<Vec<u32>>,
    nodes: Vec<Progress>,
    /// Nodes with tasks that can be launched.
    waiting: BTreeSet<u32>,
    events: BinaryHeap<Reverse<(Moment, Event)>>,
    places: Places<'a>,
    hosts: Hosts<'a>,
    /// Executor, start and gauge of each running task.
    running: Vec<Option<(u32, f64, f64)>>,
    work: Vec<f64>,
    now: f64,
    first_launch: Option<f64>,
    state: Now,
    slot_time: SlotTime,
}

impl<'a> Engine<'a> {
    fn new(
        plan: &'a Plan,
        cluster: &'a [Executor],
        pace: Option<&'a Law>,
        gauge: Option<&'a Law>,
    ) -> Self {
        let Work {
            tasks,
            retried_by,
            nodes,
        } = Work::of(plan);
        let by_node = |anchor: &dyn Fn(&Executor) -> Option<u32>| {
            let mut found = vec![Vec::new(); plan.nodes.len()];
            for (index, executor) in cluster.iter().enumerate() {
                if let Some(node) = anchor(executor) {
                    found[node as usize].push(index as u32);
                }
            }
            found
        };
        let hosts = cluster
            .iter()
            .map(|executor| executor.host + 1)
            .max()
            .unwrap_or(0);
        Self {
            plan,
            cluster,
            running: vec![None; tasks.len()],
            work: vec![0.0; tasks.len()],
            tasks,
            retried_by,
            dependants: plan.dependants(),
            adds: by_node(&|executor| Some(executor.add.0)),
            removes: by_node(&|executor| executor.remove.map(|anchor| anchor.0)),
            nodes,
            waiting: BTreeSet::new(),
            events: BinaryHeap::new(),
            places: Places::new(cluster),
            hosts: Hosts::new(hosts, pace, gauge),
            now: 0.0,
            first_launch: None,
            state: Now::default(),
            slot_time: SlotTime::default(),
        }
    }

    fn go(&mut self) {
        for node in 0..self.nodes.len() as u32 {
            if self.nodes[node as usize].unmet == 0 {
                self.at(self.plan.nodes[node as usize].delay_ns, Event::Ready(node));
            }
        }
        let mut ended = Vec::new();
        while self.nodes[self.plan.end as usize].complete.is_none() {
            if let Some(Reverse((Moment(time), event))) = self.events.pop() {
                self.pass(time);
                self.happen(event, &mut ended);
                // Everything of one instant first, then the slots are given out.
                if self
                    .events
                    .peek()
                    .is_some_and(|Reverse((next, _))| next.0 <= time)
                {
                    continue;
                }
            } else if let Some(&node) = self.waiting.first() {
                self.places
                    .call_back(self.plan.nodes[node as usize].pool, self.now);
            }
            self.dispatch();
            let (now, events) = (self.now, &mut self.events);
            self.hosts.upcoming(now, |host, version, time| {
                events.push(Reverse((Moment(time.max(now)), Event::Ends(host, version))));
            });
        }
    }

    fn at(&mut self, time: f64, event: Event) {
        self.events.push(Reverse((Moment(time), event)));
    }

    fn pass(&mut self, time: f64) {
        self.state.alive = self.places.alive;
        self.slot_time.pass(time - self.now, self.state);
        self.now = time;
    }

    fn happen(&mut self, event: Event, ended: &mut Vec<u32>) {
        match event {
            Event::Ends(host, version) => {
                if self.hosts.is_current(host, version) {
                    let gauge = self.hosts.finish(host, self.now, ended);
                    for task in ended.drain(..) {
                        self.end_task(task, host, gauge);
                    }
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
        self.waiting.insert(node);
    }

    fn complete(&mut self, node: u32) {
        self.nodes[node as usize].complete = Some(self.now);
        for index in 0..self.dependants[node as usize].len() {
            let next = self.dependants[node as usize][index];
            let progress = &mut self.nodes[next as usize];
            progress.unmet -= 1;
            progress.released_by = Some(node);
            if progress.unmet == 0 {
                self.at(
                    self.now + self.plan.nodes[next as usize].delay_ns,
                    Event::Ready(next),
                );
            }
        }
        for executor in std::mem::take(&mut self.adds[node as usize]) {
            let after = self.cluster[executor as usize].add.1;
            self.at(self.now + after, Event::Add(executor));
        }
        for executor in std::mem::take(&mut self.removes[node as usize]) {
            let after = self.cluster[executor as usize]
                .remove
                .map_or(0.0, |anchor| anchor.1);
            self.at(self.now + after, Event::Remove(executor));
        }
    }

    fn dispatch(&mut self) {
        let mut from = 0;
        while let Some(&node) = self.waiting.range(from..).next() {
            from = node + 1;
            while let Some(&task) = self.nodes[node as usize].pending.front() {
                let Some((executor, level)) = self.place_for(node, task) else {
                    break;
                };
                self.nodes[node as usize].pending.pop_front();
                self.launch(node, task, executor, level);
            }
            if self.nodes[node as usize].pending.is_empty() {
                self.waiting.remove(&node);
            }
        }
    }

    /// A slot for a task, and how far from its data that is. Where every free one is further than
    /// tasks of the node may go yet, they wait.
    fn place_for(&mut self, node: u32, task: u32) -> Option<(u32, u8)> {
        let plan = self.plan;
        let Node { pool, near, .. } = &plan.nodes[node as usize];
        let level = self.tasks[task as usize].1.level;
        let progress = &mut self.nodes[node as usize];
        let until = progress.level_since + plan.locality_wait_ns;
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
        let work = self.tasks[task as usize].1;
        let host = self.cluster[executor as usize].host;
        let load = self.plan.nodes[node as usize].load;
        let gauge = self
            .hosts
            .launch(host, self.now, task, work.duration_ns, load);
        self.running[task as usize] = Some((executor, self.now, gauge));
        let progress = &mut self.nodes[node as usize];
        // Spark calls a task without any preference as near as can be: a level never falls again.
        progress.level = progress.level.max(level);
        if self.plan.launch_resets_wait || !progress.refused {
            progress.level_since = self.now;
        }
        self.first_launch.get_or_insert(self.now);
        self.state.running += 1;
        self.state.pending -= 1;
    }

    fn end_task(&mut self, task: u32, host: u32, gauge: f64) {
        let (node, measured) = self.tasks[task as usize];
        self.hosts.unload(host, self.plan.nodes[node as usize].load);
        let Some((executor, start, started_gauge)) = self.running[task as usize].take() else {
            return;
        };
        self.work[task as usize] = gauge - started_gauge;
        self.charge(self.now - start, measured);
        self.state.running -= 1;
        if let Some(retry) = self.retried_by[task as usize] {
            self.nodes[node as usize].pending.push_front(retry);
            self.waiting.insert(node);
        }
        let tasks_wait = self.tasks_wait_for(executor);
        self.places.give_back(executor, self.now, tasks_wait);
        let progress = &mut self.nodes[node as usize];
        progress.remaining -= 1;
        if progress.remaining == 0 {
            self.state.active -= 1;
            self.state.planned -= self.plan.nodes[node as usize].tasks.len() as u64;
            self.complete(node);
        }
    }

    /// Whether work keeps an executor that dynamic allocation gives up.
    fn tasks_wait_for(&self, executor: u32) -> bool {
        let Executor { dynamic, pool, .. } = self.cluster[executor as usize];
        let needs = |&node: &u32| self.plan.nodes[node as usize].pool == pool;
        dynamic && self.waiting.iter().any(needs)
    }

    fn charge(&mut self, time: f64, task: Task) {
        let delay = if task.duration_ns > 0.0 {
            (task.delay_ns / task.duration_ns).min(1.0)
        } else {
            0.0
        };
        self.slot_time.ended(time, task.wasted, delay);
    }

    fn outcome(mut self, gauged: bool) -> Outcome {
        // What the end does not wait for may still be running.
        for index in 0..self.running.len() {
            if let Some((_, start, _)) = self.running[index] {
                self.charge(self.now - start, self.tasks[index].1);
            }
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
            work_ns: if gauged { self.work } else { Vec::new() },
        }
    }
}
