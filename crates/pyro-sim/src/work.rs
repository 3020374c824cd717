//! Tasks of a plan in one row, in which times, and how far its nodes are.

use crate::error::{Error, Result};
use crate::plan::{Node, Plan, Task, is_time};

/// What stays of a plan, whatever its times.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    /// Place of each node's first task, and the number of all tasks.
    pub first: Vec<u32>,
    /// Node of each task.
    pub node_of: Vec<u32>,
    /// See [`Task::level`].
    pub level: Vec<u8>,
    /// See [`Task::wasted`].
    pub wasted: Vec<bool>,
    /// Whether each task waits for an earlier attempt to end.
    pub again: Vec<bool>,
    /// The next attempt at each task.
    pub retried_by: Vec<Option<u32>>,
    /// Nodes that wait for each node: all of them in one row, and where each one's begin.
    waiting: Vec<u32>,
    waiting_first: Vec<usize>,
}

impl Layout {
    /// Lays the tasks of a checked plan out.
    pub fn of(plan: &Plan) -> Self {
        let count = plan.nodes.iter().map(|node| node.tasks.len()).sum();
        let mut laid = Self {
            first: Vec::with_capacity(plan.nodes.len() + 1),
            node_of: Vec::with_capacity(count),
            level: Vec::with_capacity(count),
            wasted: Vec::with_capacity(count),
            again: Vec::with_capacity(count),
            retried_by: vec![None; count],
            waiting: Vec::new(),
            waiting_first: vec![0],
        };
        for (index, node) in plan.nodes.iter().enumerate() {
            let first = laid.node_of.len() as u32;
            laid.first.push(first);
            for (offset, task) in node.tasks.iter().enumerate() {
                laid.node_of.push(index as u32);
                laid.level.push(task.level);
                laid.wasted.push(task.wasted);
                laid.again.push(task.retry_of.is_some());
                if let Some(before) = task.retry_of {
                    laid.retried_by[(first + before) as usize] = Some(first + offset as u32);
                }
            }
        }
        laid.first.push(count as u32);
        for dependants in plan.dependants() {
            laid.waiting.extend(dependants);
            laid.waiting_first.push(laid.waiting.len());
        }
        laid
    }

    /// Nodes that wait for a node.
    pub fn dependants(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.waiting[self.waiting_first[node]..self.waiting_first[node + 1]]
    }

    /// How many tasks a node has.
    pub fn tasks_count(&self, node: u32) -> u32 {
        self.first[node as usize + 1] - self.first[node as usize]
    }

    /// The first task from one on, of a node, that waits for no other attempt.
    pub fn unforced(&self, node: u32, from: u32) -> u32 {
        let end = self.first[node as usize + 1];
        (from..end)
            .find(|&task| !self.again[task as usize])
            .unwrap_or(end)
    }
}

/// Times of a plan: of the driver before each node, and of all tasks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lengths {
    /// See [`Node::delay_ns`].
    pub node_delay_ns: Vec<f64>,
    /// See [`Task::duration_ns`].
    pub duration_ns: Vec<f64>,
    /// See [`Task::delay_ns`].
    pub delay_ns: Vec<f64>,
}

impl Lengths {
    /// The times that a plan has.
    pub fn of(plan: &Plan) -> Self {
        let of = |time: fn(&Task) -> f64| {
            let tasks = plan.nodes.iter().flat_map(|node| &node.tasks);
            tasks.map(time).collect()
        };
        Self {
            node_delay_ns: plan.nodes.iter().map(|node| node.delay_ns).collect(),
            duration_ns: of(|task| task.duration_ns),
            delay_ns: of(|task| task.delay_ns),
        }
    }

    /// Gives the tasks and nodes of a plan these times.
    pub fn put(&self, nodes: &mut [Node]) {
        let mut place = 0;
        for (node, &delay_ns) in nodes.iter_mut().zip(&self.node_delay_ns) {
            node.delay_ns = delay_ns;
            for task in &mut node.tasks {
                task.duration_ns = self.duration_ns[place];
                task.delay_ns = self.delay_ns[place];
                place += 1;
            }
        }
    }

    /// Checks that every time is a time.
    ///
    /// # Errors
    /// If not.
    pub fn check(&self, layout: &Layout) -> Result<()> {
        // Without a way out in the middle, a compiler takes several at once.
        let all = |times: &[f64]| times.iter().fold(true, |good, &time| good & is_time(time));
        if all(&self.node_delay_ns) && all(&self.duration_ns) && all(&self.delay_ns) {
            return Ok(());
        }
        let task = |&at: &usize| !is_time(self.duration_ns[at]) || !is_time(self.delay_ns[at]);
        let node = self.node_delay_ns.iter().position(|&delay| !is_time(delay));
        let found = match (0..self.duration_ns.len()).find(task) {
            Some(at) if node.is_none_or(|node| layout.node_of[at] < node as u32) => {
                let node = layout.node_of[at];
                let task = at as u32 - layout.first[node as usize];
                format!("node {node}: task {task}: no time")
            }
            _ => {
                let node = node.unwrap_or_default();
                format!("node {node}: delay_ns or load: neither finite nor positive")
            }
        };
        Err(Error::new(found))
    }
}

/// What there is to do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Work<'a> {
    /// Its nodes; the times in it do not count.
    pub plan: &'a Plan,
    pub layout: &'a Layout,
    pub lengths: &'a Lengths,
    /// See [`Plan::locality_wait_ns`].
    pub locality_wait_ns: f64,
}

/// How far a node is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Progress {
    pub unmet: usize,
    pub released_by: Option<u32>,
    pub submit: Option<f64>,
    pub complete: Option<f64>,
    /// The next task that was not tried before, and tasks to try again: the last one goes first.
    pub next: u32,
    pub retries: Vec<u32>,
    pub remaining: usize,
    /// How far tasks may go from their data, since when, and whether a free slot was too far.
    pub level: u8,
    pub level_since: f64,
    pub refused: bool,
    pub woken: f64,
}

impl Progress {
    /// Nothing of any node is done.
    pub fn start(work: &Work<'_>) -> Vec<Self> {
        let layout = work.layout;
        let begin = |(index, node): (usize, &Node)| {
            let (first, count) = (layout.first[index], layout.tasks_count(index as u32));
            Self {
                unmet: node.after.len(),
                remaining: count as usize,
                level: if count > 0 {
                    layout.level[first as usize]
                } else {
                    0
                },
                next: layout.unforced(index as u32, first),
                woken: f64::NEG_INFINITY,
                ..Self::default()
            }
        };
        work.plan.nodes.iter().enumerate().map(begin).collect()
    }

    /// The next task to launch.
    pub fn upcoming(&self, end: u32) -> Option<u32> {
        let untried = (self.next < end).then_some(self.next);
        self.retries.last().copied().or(untried)
    }
}
