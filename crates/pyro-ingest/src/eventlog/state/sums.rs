//! What accumulators counted.

use rustc_hash::FxHashMap;

use super::seen::Seen;
use crate::eventlog::task_metrics::plausible;

/// The largest sum that is taken, 36 years in ns: several of them can be added up.
const LARGEST_SUM: u64 = 1 << 60;

/// An update of an accumulator: its id, and its value where that is an integer.
pub type Update = (i64, Option<i64>);

/// What an accumulator counted in one stage attempt, or on the driver.
#[derive(Debug, Clone, Copy)]
pub struct Sum {
    /// Accumulator.
    pub accumulator_id: i64,
    /// Updates.
    pub count: i64,
    /// Their sum.
    pub sum: i64,
    /// The smallest.
    pub min: i64,
    /// The largest.
    pub max: i64,
    /// Task of the largest.
    pub max_task: Option<i64>,
    /// Every update was an integer and the sum is one.
    pub whole: bool,
}

/// Sums of one stage attempt in the order in which they were first seen.
#[derive(Debug, Default)]
pub struct Sums {
    sums: Vec<Sum>,
    places: FxHashMap<i64, u32>,
    /// Indices of tasks that succeeded.
    succeeded: Seen,
}

impl Sums {
    /// What was counted, accumulator by accumulator.
    pub fn iter(&self) -> std::slice::Iter<'_, Sum> {
        self.sums.iter()
    }

    /// Notes that the task of an index succeeded; whether it is for the first time. It does so
    /// again where its output was lost with its executor: Spark counts one attempt of each.
    pub fn first_success(&mut self, index: i64) -> bool {
        self.succeeded.first(index, 0)
    }

    /// Adds the updates of one task, or of the driver.
    pub fn add(&mut self, updates: &[Update], task: Option<i64>) {
        // Tasks of a stage mostly carry the same accumulators in the same order.
        let mut next = 0;
        for &(accumulator_id, value) in updates {
            // Spark's word for "never set".
            if value == Some(-1) {
                continue;
            }
            let place = match self.sums.get(next) {
                Some(sum) if sum.accumulator_id == accumulator_id => next,
                _ => self.place(accumulator_id),
            };
            next = place + 1;
            let sum = &mut self.sums[place];
            sum.count += 1;
            let total = value
                .filter(plausible)
                .and_then(|value| sum.sum.checked_add(value))
                .filter(|total| total.unsigned_abs() <= LARGEST_SUM);
            let (Some(value), Some(total)) = (value, total) else {
                sum.whole = false;
                continue;
            };
            sum.sum = total;
            sum.min = sum.min.min(value);
            if value > sum.max {
                sum.max = value;
                sum.max_task = task;
            }
        }
    }

    fn place(&mut self, accumulator_id: i64) -> usize {
        let fresh = self.sums.len();
        let place = *self.places.entry(accumulator_id).or_insert(fresh as u32) as usize;
        if place == fresh {
            self.sums.push(Sum {
                accumulator_id,
                count: 0,
                sum: 0,
                min: i64::MAX,
                max: i64::MIN,
                max_task: None,
                whole: true,
            });
        }
        place
    }
}
