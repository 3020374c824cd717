//! How long to leave a store alone that does not answer.

const FIRST_NS: i64 = 1_000_000_000;
const LONGEST_NS: i64 = 60_000_000_000;

/// Waits that double, up to a minute, each with a random part: agents of a thousand hosts do not return at once.
#[derive(Debug, Clone)]
pub struct Backoff {
    failures: u32,
    until_ns: i64,
    random: u64,
}

impl Backoff {
    /// Nothing has failed yet. `seed` differs between hosts.
    pub fn new(seed: u64) -> Self {
        Self {
            failures: 0,
            until_ns: i64::MIN,
            random: seed | 1,
        }
    }

    /// Attempts that failed since the last that did not.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Whether an attempt is due.
    pub fn is_due(&self, now_ns: i64) -> bool {
        now_ns >= self.until_ns
    }

    /// The store answers.
    pub fn succeeded(&mut self) {
        self.failures = 0;
        self.until_ns = i64::MIN;
    }

    /// An attempt is due now, whatever failed before: there may be no later one.
    pub fn hurry(&mut self) {
        self.until_ns = i64::MIN;
    }

    /// An attempt failed: the next is due after at least half of the longest wait of its turn.
    pub fn failed(&mut self, now_ns: i64) {
        let longest = FIRST_NS << self.failures.min(6);
        let longest = longest.min(LONGEST_NS);
        // xorshift64: no more is needed to spread attempts.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let half = longest / 2;
        let random = (self.random % half as u64) as i64;
        self.until_ns = now_ns.saturating_add(half + random);
        self.failures = self.failures.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn waits_double_up_to_a_minute_and_end_with_a_success() {
        let mut backoff = Backoff::new(7);
        let mut longest = FIRST_NS;
        for _ in 0..100 {
            backoff.failed(0);
            assert!(!backoff.is_due(longest / 2 - 1) && backoff.is_due(longest));
            longest = (longest * 2).min(LONGEST_NS);
        }
        backoff.succeeded();
        assert!(backoff.is_due(0) && backoff.failures() == 0);
    }

    proptest! {
        #[test]
        fn hosts_wait_differently(seed: u64) {
            let wait = |seed| {
                let mut backoff = Backoff::new(seed);
                (0..3).for_each(|_| backoff.failed(0));
                backoff.until_ns
            };
            prop_assume!(seed | 1 != 99);
            prop_assert_ne!(wait(seed), wait(99));
        }
    }
}
