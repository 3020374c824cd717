//! What there is to do: a graph of nodes, some of which have tasks.

use crate::error::{Error, Result};

/// A stage attempt, or, without tasks, a point in the driver's program (a job's start or end).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Node {
    /// Nodes that must be complete before.
    pub after: Vec<u32>,
    /// Time of the driver from there to this node's start.
    pub delay_ns: f64,
    /// Its tasks, in the order in which they are launched.
    pub tasks: Vec<Task>,
    /// What a running task adds to its host's load; see [`crate::Law`].
    pub load: f64,
    /// Kind of executor that its tasks need.
    pub pool: u32,
    /// Sites where its tasks find their data, in order; none: anywhere.
    pub near: Vec<u32>,
}

/// A task attempt.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Task {
    /// Time in its slot, as measured.
    pub duration_ns: f64,
    /// The part of it in which the slot waited for the scheduler.
    pub delay_ns: f64,
    /// How far from its data it ran, 0 to [`FAR`]; see [`Plan::locality_wait_ns`].
    pub level: u8,
    /// It failed, was killed, or its result was lost.
    pub wasted: bool,
    /// It is a new attempt at this task of its node, and may start once that one has ended.
    pub retry_of: Option<u32>,
}

/// Nodes in the order in which they are served: the first ready one's tasks go first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// All nodes.
    pub nodes: Vec<Node>,
    /// The node whose completion ends the application.
    pub end: u32,
    /// Delay scheduling: a node's tasks go no further from their data than they did before, unless
    /// none was launched for so long.
    pub locality_wait_ns: f64,
    /// Every launch restarts that wait (Spark before 3.1), not only one that leaves no slot
    /// refused.
    pub launch_resets_wait: bool,
}

/// Level of a task that runs away from the sites that its node is near to.
pub const FAR: u8 = 3;

impl Plan {
    /// Checks that every index is one and every time is a time.
    ///
    /// # Errors
    /// If not, or if the plan has a cycle.
    pub fn check(&self) -> Result<()> {
        let nodes = self.nodes.len();
        if self.end as usize >= nodes {
            return Err(Error::new(format!("end: no node {}", self.end)));
        }
        if !is_time(self.locality_wait_ns) {
            return Err(Error::new("locality_wait_ns: no time"));
        }
        for (index, node) in self.nodes.iter().enumerate() {
            node.check(nodes)
                .map_err(|what| Error::new(format!("node {index}: {what}")))?;
        }
        self.check_acyclic()
    }

    fn check_acyclic(&self) -> Result<()> {
        let mut waits: Vec<usize> = self.nodes.iter().map(|node| node.after.len()).collect();
        let dependants = self.dependants();
        let mut ready: Vec<u32> = (0..waits.len() as u32)
            .filter(|&node| waits[node as usize] == 0)
            .collect();
        let mut done = 0;
        while let Some(node) = ready.pop() {
            done += 1;
            for &next in &dependants[node as usize] {
                waits[next as usize] -= 1;
                if waits[next as usize] == 0 {
                    ready.push(next);
                }
            }
        }
        if done < waits.len() {
            return Err(Error::new("the plan has a cycle"));
        }
        Ok(())
    }

    /// Nodes that wait for each node.
    pub(crate) fn dependants(&self) -> Vec<Vec<u32>> {
        let mut found = vec![Vec::new(); self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            for &before in &node.after {
                found[before as usize].push(index as u32);
            }
        }
        found
    }
}

impl Node {
    fn check(&self, nodes: usize) -> std::result::Result<(), String> {
        if let Some(before) = self.after.iter().find(|&&before| before as usize >= nodes) {
            return Err(format!("after: no node {before}"));
        }
        if !is_time(self.delay_ns) || !is_time(self.load) {
            return Err("delay_ns or load: neither finite nor positive".into());
        }
        let mut retried = vec![false; self.tasks.len()];
        for (index, task) in self.tasks.iter().enumerate() {
            if !is_time(task.duration_ns) || !is_time(task.delay_ns) {
                return Err(format!("task {index}: no time"));
            }
            if task.retry_of.is_some_and(|first| first as usize >= index) {
                return Err(format!("task {index}: retry_of names no task before it"));
            }
            if let Some(first) = task.retry_of
                && std::mem::replace(&mut retried[first as usize], true)
            {
                return Err(format!("task {first}: retried by two tasks"));
            }
        }
        Ok(())
    }
}

/// Zero or more, and finite.
pub(crate) fn is_time(value: f64) -> bool {
    (0.0..f64::INFINITY).contains(&value)
}
