//! Plans and their times in columns: little-endian where there may be very many.

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::plan::{Node, Plan, Task};
use crate::work::{Layout, Lengths};

/// A plan without its tasks: nodes in columns.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Columns {
    end: u32,
    launch_resets_wait: bool,
    after: Vec<Vec<u32>>,
    load: Vec<f64>,
    pool: Vec<u32>,
    near: Vec<Vec<u32>>,
    tasks_count: Vec<usize>,
}

impl Columns {
    /// The plan with its tasks, without times.
    ///
    /// # Errors
    /// If the columns do not belong together.
    pub fn plan(self, tasks: &[Task]) -> Result<Plan> {
        let nodes = self.after.len();
        let lengths = [
            self.load.len(),
            self.pool.len(),
            self.near.len(),
            self.tasks_count.len(),
        ];
        if lengths.iter().any(|&length| length != nodes) {
            return Err(Error::new("plan: columns of different lengths"));
        }
        let mut rest = tasks;
        let mut all = Vec::with_capacity(nodes);
        for (index, (after, near)) in self.after.into_iter().zip(self.near).enumerate() {
            let Some((mine, others)) = rest.split_at_checked(self.tasks_count[index]) else {
                return Err(Error::new("plan: tasks_count is more than there are tasks"));
            };
            rest = others;
            all.push(Node {
                after,
                delay_ns: 0.0,
                tasks: mine.to_vec(),
                load: self.load[index],
                pool: self.pool[index],
                near,
            });
        }
        if !rest.is_empty() {
            return Err(Error::new("plan: tasks_count is less than there are tasks"));
        }
        Ok(Plan {
            nodes: all,
            end: self.end,
            locality_wait_ns: 0.0,
            launch_resets_wait: self.launch_resets_wait,
        })
    }
}

/// What tasks are, whatever their times: all nodes' one after another.
#[derive(Debug, Clone, Copy)]
pub struct TaskKinds<'a> {
    /// `u8`: see [`Task::level`].
    pub level: &'a [u8],
    /// `u8`, 0 or 1: see [`Task::wasted`].
    pub wasted: &'a [u8],
    /// `i32`, negative for none: see [`Task::retry_of`].
    pub retry_of: &'a [u8],
}

impl TaskKinds<'_> {
    pub(crate) fn tasks(self) -> Result<Vec<Task>> {
        let retries = self.retry_of.as_chunks::<4>().0;
        let count = self.level.len();
        if self.wasted.len() != count || retries.len() != count {
            return Err(Error::new("tasks: columns of different lengths"));
        }
        let task = |index: usize| Task {
            level: self.level[index],
            wasted: self.wasted[index] != 0,
            retry_of: u32::try_from(i32::from_le_bytes(retries[index])).ok(),
            ..Task::default()
        };
        Ok((0..count).map(task).collect())
    }
}

/// Times of a plan, as little-endian columns of `f64`.
#[derive(Debug, Clone, Copy)]
pub struct Times<'a> {
    /// See [`Node::delay_ns`].
    pub node_delay_ns: &'a [u8],
    /// See [`Task::duration_ns`].
    pub duration_ns: &'a [u8],
    /// See [`Task::delay_ns`].
    pub delay_ns: &'a [u8],
    /// Factors for scenarios to name: one for each node, of one stretch after another.
    pub stretches: &'a [u8],
}

fn floats(column: &[u8]) -> Vec<f64> {
    let chunks = column.as_chunks::<8>().0;
    chunks.iter().map(|one| f64::from_le_bytes(*one)).collect()
}

impl Times<'_> {
    /// The times of a plan, and its stretches.
    pub(crate) fn of(&self, nodes: usize, layout: &Layout) -> Result<(Lengths, Vec<Vec<f64>>)> {
        let lengths = Lengths {
            node_delay_ns: floats(self.node_delay_ns),
            duration_ns: floats(self.duration_ns),
            delay_ns: floats(self.delay_ns),
        };
        let tasks = layout.node_of.len();
        if lengths.node_delay_ns.len() != nodes
            || lengths.duration_ns.len() != tasks
            || lengths.delay_ns.len() != tasks
        {
            return Err(Error::new("times: not one for each node or task"));
        }
        let stretches = floats(self.stretches);
        if nodes == 0 || !stretches.len().is_multiple_of(nodes) {
            return Err(Error::new("stretches: not one for each node"));
        }
        let stretches = stretches.chunks(nodes).map(<[f64]>::to_vec).collect();
        Ok((lengths, stretches))
    }
}
