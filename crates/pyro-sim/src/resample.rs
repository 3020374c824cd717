//! Other numbers of tasks than were measured.

use crate::plan::{Node, Task};

/// Random numbers that are the same for the same seed, everywhere (SplitMix64: Steele, Lea and
/// Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
pub(crate) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 up to, not including, 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, count: usize) -> usize {
        ((self.unit() * count as f64) as usize).min(count - 1)
    }
}

/// Gives a node `ratio` times as many tasks of its own distribution, and the same work in all.
///
/// Drawn at equal steps through the tasks ordered by length, so that skew stays as it was
/// measured. Attempts that were wasted stay as frequent, but are no longer tied to a task.
pub(crate) fn resample(node: &Node, ratio: f64, random: &mut Random) -> Vec<Task> {
    let had = node.tasks.len();
    let count = ((had as f64 * ratio).round() as usize).max(1);
    if had == 0 || count == had {
        return node.tasks.clone();
    }
    let mut sorted = node.tasks.clone();
    sorted.sort_by(|a, b| a.duration_ns.total_cmp(&b.duration_ns));
    let start = random.unit();
    let mut drawn: Vec<Task> = (0..count)
        .map(|step| {
            sorted[(((step as f64 + start) / count as f64 * had as f64) as usize).min(had - 1)]
        })
        .collect();
    let before: f64 = sorted.iter().map(|task| task.duration_ns).sum();
    let after: f64 = drawn.iter().map(|task| task.duration_ns).sum();
    let factor = if after > 0.0 { before / after } else { 1.0 };
    for task in &mut drawn {
        task.duration_ns *= factor;
        task.delay_ns *= factor;
        task.retry_of = None;
    }
    for last in (1..drawn.len()).rev() {
        drawn.swap(last, random.below(last + 1));
    }
    // Tasks near their data are launched first, whatever their number.
    drawn.sort_by_key(|task| task.level);
    drawn
}

#[cfg(test)]
mod tests {
    use super::{Random, resample};
    use crate::plan::{Node, Task};

    fn node(durations: &[f64]) -> Node {
        let tasks = durations.iter().map(|&duration_ns| Task {
            duration_ns,
            ..Task::default()
        });
        Node {
            tasks: tasks.collect(),
            ..Node::default()
        }
    }

    #[test]
    fn twice_the_tasks_are_half_as_long_and_as_skewed() {
        let drawn = resample(&node(&[1.0, 2.0, 3.0, 10.0]), 2.0, &mut Random::new(7));
        let mut lengths: Vec<f64> = drawn.iter().map(|task| task.duration_ns).collect();
        lengths.sort_by(f64::total_cmp);
        assert_eq!(lengths, [0.5, 0.5, 1.0, 1.0, 1.5, 1.5, 5.0, 5.0]);
    }

    #[test]
    fn any_number_of_tasks_has_the_same_work() {
        for ratio in [0.3, 0.75, 2.5, 10.1] {
            let drawn = resample(&node(&[1.0, 2.0, 3.0, 10.0]), ratio, &mut Random::new(7));
            let work: f64 = drawn.iter().map(|task| task.duration_ns).sum();
            assert_eq!(drawn.len(), (4.0f64 * ratio).round() as usize);
            assert!((work - 16.0).abs() < 1e-9);
        }
    }

    #[test]
    fn the_same_seed_draws_the_same() {
        let node = node(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        let drawn = |seed| resample(&node, 3.0, &mut Random::new(seed));
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }

    #[test]
    fn one_task_can_be_split_and_none_cannot() {
        let drawn = resample(&node(&[6.0]), 3.0, &mut Random::new(1));
        let lengths: Vec<f64> = drawn.iter().map(|task| task.duration_ns).collect();
        assert_eq!(lengths, [2.0, 2.0, 2.0]);
        assert!(resample(&node(&[]), 3.0, &mut Random::new(1)).is_empty());
    }
}
