//! What comes of a schedule.

use crate::account::SlotTime;

/// What came of a schedule.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// From the start to the completion of the plan's end.
    pub elapsed_ns: f64,
    /// When each node became ready; `None` where the end came before.
    pub submit_ns: Vec<Option<f64>>,
    /// When each node was complete.
    pub complete_ns: Vec<Option<f64>>,
    /// Of the nodes that a node waited for, the one that was complete last.
    pub released_by: Vec<Option<u32>>,
    /// When the first task was launched.
    pub first_launch_ns: Option<f64>,
    /// Where the time of all slots went.
    pub slot_time: SlotTime,
    /// Executors kept beyond their end, as tasks waited and no slot was left.
    pub kept_executors_count: u32,
    /// Work of each task under the gauged law; empty without one.
    pub work_ns: Vec<f64>,
}
