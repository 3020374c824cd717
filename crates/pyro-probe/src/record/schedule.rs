//! When to read: an absolute schedule with jitter, and how late the readings were.

/// Times of readings: one in every period, at a random place in its first half, so that
/// nothing that recurs in the workload can keep in step with us.
#[derive(Debug)]
pub struct Schedule {
    start_ns: i64,
    period_ns: i64,
    random: u64,
    index: i64,
    /// Periods that passed without a reading, as we came too late.
    pub missed: u64,
}

impl Schedule {
    /// A schedule of `hz` readings a second from `start_ns` on.
    pub fn new(start_ns: i64, hz: f64, seed: u64) -> Self {
        Self {
            start_ns,
            period_ns: (1e9 / hz) as i64,
            random: seed,
            index: 0,
            missed: 0,
        }
    }

    /// Another pace from now on.
    pub fn change(&mut self, now_ns: i64, hz: f64) {
        (self.start_ns, self.period_ns, self.index) = (now_ns, (1e9 / hz) as i64, 0);
    }

    /// Length of a period.
    pub fn period_ns(&self) -> i64 {
        self.period_ns
    }

    /// Time of the next reading. Periods that are wholly past are counted as missed and not caught up.
    pub fn next_due(&mut self, now_ns: i64) -> i64 {
        let current = (now_ns - self.start_ns).div_euclid(self.period_ns);
        let next = self.index + 1;
        if current > next {
            self.missed += (current - next) as u64;
        }
        self.index = next.max(current);
        self.start_ns + self.index * self.period_ns + self.jitter()
    }

    /// splitmix64, to [0, period / 2).
    fn jitter(&mut self) -> i64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let unit = (z ^ (z >> 31)) >> 11;
        ((unit as f64 / (1_u64 << 53) as f64) * self.period_ns as f64 / 2.0) as i64
    }
}

/// Distribution of lateness in a bounded histogram: quarter octaves from 1 µs.
#[derive(Debug, Clone)]
pub struct Lateness {
    counts: [u64; 128],
    /// Readings.
    pub count: u64,
    /// Latest reading (ns).
    pub max_ns: i64,
}

impl Default for Lateness {
    fn default() -> Self {
        Self {
            counts: [0; 128],
            count: 0,
            max_ns: 0,
        }
    }
}

impl Lateness {
    /// Notes a reading that was due at one time and happened at another.
    pub fn note(&mut self, due_ns: i64, at_ns: i64) {
        let late = (at_ns - due_ns).max(0);
        self.count += 1;
        self.max_ns = self.max_ns.max(late);
        let bucket = ((late.max(1) as f64 / 1000.0).log2() * 4.0)
            .ceil()
            .clamp(0.0, 127.0);
        self.counts[bucket as usize] += 1;
    }

    /// Upper end of the bucket that holds the given share of the readings; `None` without readings.
    pub fn quantile_ns(&self, share: f64) -> Option<i64> {
        let rank = (share * self.count as f64).ceil() as u64;
        let mut sum = 0;
        self.counts.iter().enumerate().find_map(|(bucket, &count)| {
            sum += count;
            let upper = (1000.0 * (bucket as f64 / 4.0).exp2()) as i64;
            (count > 0 && sum >= rank).then(|| upper.min(self.max_ns))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_reading_in_every_period() {
        let mut schedule = Schedule::new(1_000, 20.0, 7);
        let mut now = 1_000;
        for index in 1..200 {
            let due = schedule.next_due(now);
            let offset = due - 1_000 - index * 50_000_000;
            assert!((0..25_000_000).contains(&offset), "{index}: {offset}");
            now = due + 10_000;
        }
        assert_eq!(schedule.missed, 0);
    }

    #[test]
    fn another_pace_begins_at_once_and_misses_nothing() {
        let mut schedule = Schedule::new(0, 20.0, 7);
        let first = schedule.next_due(0);
        schedule.change(first, 5.0);
        assert_eq!(schedule.period_ns(), 200_000_000);
        for index in 1..50 {
            let offset = schedule.next_due(first + index * 200_000_000) - first;
            assert!((0..100_000_000).contains(&(offset - index * 200_000_000)));
        }
        assert_eq!(schedule.missed, 0);
    }

    #[test]
    fn the_jitter_spreads_over_half_the_period() {
        let mut schedule = Schedule::new(0, 1.0, 42);
        let offsets: Vec<i64> = (1..2000)
            .map(|index| schedule.next_due(0) - index * 1_000_000_000)
            .collect();
        let mean = offsets.iter().sum::<i64>() / offsets.len() as i64;
        assert!((240_000_000..260_000_000).contains(&mean), "{mean}");
        assert!(
            *offsets.iter().max().unwrap() > 490_000_000
                && *offsets.iter().min().unwrap() < 10_000_000
        );
    }

    #[test]
    fn a_pause_is_counted_not_made_up_for() {
        let mut schedule = Schedule::new(0, 10.0, 1);
        let first = schedule.next_due(0);
        let after_pause = schedule.next_due(first + 1_000_000_000);
        assert!(after_pause >= 1_100_000_000);
        assert_eq!(schedule.missed, 9);
    }

    #[test]
    fn quantiles_bound_the_lateness() {
        let mut late = Lateness::default();
        assert_eq!(late.quantile_ns(0.95), None);
        for micros in 1..=100 {
            late.note(0, micros * 1000);
        }
        let p95 = late.quantile_ns(0.95).unwrap();
        assert!((95_000..=100_000 * 6 / 5).contains(&p95), "{p95}");
        assert_eq!((late.max_ns, late.count), (100_000, 100));
        late.note(10, 0);
        assert_eq!(late.quantile_ns(0.0), Some(1000));
    }
}
