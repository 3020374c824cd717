//! What our programs cost, from statistics that are on for part of the time.
//!
//! The kernel reads its clock twice for every run of a program while it counts: a third of what a
//! switch costs at T0 (`python -m benchmarks.switches`). So it counts for one second in eight, and
//! more often at the begin, where an application that starts is unlike itself later. Seconds that
//! were not counted cost what the last one did that was.

/// Of so many seconds one is counted, and the 1st, 2nd, 3rd and 5th.
const EVERY: u64 = 8;

/// The estimate, a second at a time.
#[derive(Debug, Default)]
pub struct Cost {
    seconds: u64,
    /// When the last look was, and what had been counted until then.
    last_ns: i64,
    counted_ns: i64,
    /// Of uncounted time, by the rate of the second counted before it.
    estimated_ns: f64,
    rate: f64,
    /// How long it was counted, and how long in all.
    watched_ns: i64,
    whole_ns: i64,
}

impl Cost {
    /// Begins at a moment, while the kernel counts.
    pub fn start(now_ns: i64) -> Self {
        Self {
            last_ns: now_ns,
            ..Self::default()
        }
    }

    /// Takes note of what the kernel has counted so far, and of whether it did so since the last
    /// look; says whether it is to count until the next.
    ///
    /// A count that grew though nobody of ours asked for it is somebody else's doing, and as good.
    pub fn look(&mut self, now_ns: i64, counted_ns: i64, counts: bool) -> bool {
        let (took, grown) = (now_ns - self.last_ns, counted_ns - self.counted_ns);
        if took > 0 {
            if counts || grown > 0 {
                self.rate = grown as f64 / took as f64;
                self.watched_ns += took;
            } else {
                self.estimated_ns += self.rate * took as f64;
            }
            self.whole_ns += took;
            (self.last_ns, self.counted_ns) = (now_ns, counted_ns);
        }
        self.seconds += 1;
        self.seconds.is_power_of_two() || self.seconds.is_multiple_of(EVERY)
    }

    /// CPU time of the programs so far, in ns: an estimate.
    pub fn cpu_ns(&self) -> i64 {
        self.counted_ns + self.estimated_ns.round() as i64
    }

    /// How many times as much they cost as was counted.
    pub fn scale(&self) -> f64 {
        match self.counted_ns {
            0 => 1.0,
            counted => self.cpu_ns() as f64 / counted as f64,
        }
    }

    /// Share of the time that was counted; all of it before the first look.
    pub fn counted_ratio(&self) -> f64 {
        match self.whole_ns {
            0 => 1.0,
            whole => self.watched_ns as f64 / whole as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: i64 = 1_000_000_000;

    /// Lets programs cost so many ns in each second; the kernel counts when asked to, or always.
    fn lived(costs: &[i64], always: bool) -> Cost {
        let (mut cost, mut counts, mut counted) = (Cost::start(5), true, 0);
        for (&each, number) in costs.iter().zip(1..) {
            counted += if counts || always { each } else { 0 };
            counts = cost.look(5 + number * SECOND, counted, counts);
        }
        cost
    }

    #[test]
    fn one_second_in_eight_is_counted_and_stands_for_the_others() {
        let cost = lived(&[3_000_000; 80], false);
        assert_eq!(cost.cpu_ns(), 240_000_000);
        assert!(
            (cost.counted_ratio() - 13.0 / 80.0).abs() < 1e-9,
            "{cost:?}"
        );
        assert!((cost.scale() * 39_000_000.0 - 240_000_000.0).abs() < 1.0);
    }

    #[test]
    fn a_job_that_is_slow_to_start_is_not_taken_for_idle() {
        let cost = lived(&[0, 0, 8_000_000, 8_000_000, 8_000_000, 8_000_000], false);
        assert_eq!(cost.cpu_ns(), 32_000_000);
    }

    #[test]
    fn what_others_have_counted_is_not_estimated_again() {
        let cost = lived(&[3_000_000; 80], true);
        assert_eq!((cost.cpu_ns(), cost.scale()), (240_000_000, 1.0));
        assert_eq!(cost.counted_ratio(), 1.0);
    }

    #[test]
    fn nothing_is_known_of_a_time_that_was_none() {
        let mut cost = Cost::start(7);
        cost.look(7, 0, true);
        assert_eq!(
            (cost.cpu_ns(), cost.scale(), cost.counted_ratio()),
            (0, 1.0, 1.0)
        );
    }

    proptest! {
        #[test]
        fn a_cost_only_grows_and_is_the_rate_of_a_steady_job(
            each in 0..900_000_000_i64, seconds in 1..200_usize, jitter in prop::collection::vec(0.5..1.5_f64, 200),
        ) {
            let steady = lived(&vec![each; seconds], false);
            prop_assert!((steady.cpu_ns() - each * seconds as i64).abs() <= 1);
            let costs: Vec<i64> = jitter[..seconds].iter().map(|j| (each as f64 * j) as i64).collect();
            let mut before = 0;
            for end in 1..=seconds {
                let now = lived(&costs[..end], false).cpu_ns();
                prop_assert!(now >= before, "{now} {before}");
                before = now;
            }
        }
    }
}
