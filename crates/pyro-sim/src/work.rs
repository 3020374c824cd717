//! Tasks of a plan in one row, and how far its nodes are.

use std::collections::VecDeque;

use crate::plan::{Plan, Task};

/// How far a node is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Progress {
    pub unmet: usize,
    pub released_by: Option<u32>,
    pub submit: Option<f64>,
    pub complete: Option<f64>,
    pub pending: VecDeque<u32>,
    pub remaining: usize,
    /// How far tasks may go from their data, since when, and whether a free slot was too far.
    pub level: u8,
    pub level_since: f64,
    pub refused: bool,
    pub woken: f64,
}

/// What there is to do, as the event loop counts it off.
pub(crate) struct Work {
    /// Node and task, of all nodes one after another.
    pub tasks: Vec<(u32, Task)>,
    /// The next attempt at each task.
    pub retried_by: Vec<Option<u32>>,
    pub nodes: Vec<Progress>,
}

impl Work {
    /// Nothing of a plan is done.
    pub fn of(plan: &Plan) -> Self {
        let mut work = Self {
            tasks: Vec::new(),
            retried_by: Vec::new(),
            nodes: Vec::with_capacity(plan.nodes.len()),
        };
        for (index, node) in plan.nodes.iter().enumerate() {
            let first = work.tasks.len();
            work.retried_by.resize(first + node.tasks.len(), None);
            let mut pending = VecDeque::new();
            for (offset, task) in node.tasks.iter().enumerate() {
                let number = (first + offset) as u32;
                work.tasks.push((index as u32, *task));
                match task.retry_of {
                    Some(before) => work.retried_by[first + before as usize] = Some(number),
                    None => pending.push_back(number),
                }
            }
            work.nodes.push(Progress {
                unmet: node.after.len(),
                remaining: node.tasks.len(),
                level: node.tasks.first().map_or(0, |task| task.level),
                pending,
                woken: f64::NEG_INFINITY,
                ..Progress::default()
            });
        }
        work
    }
}
