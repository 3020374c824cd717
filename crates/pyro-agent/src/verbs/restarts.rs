//! When a recorder that ended is started again, and what nobody recorded meanwhile.

use std::collections::VecDeque;

use serde_json::{Value, json};

use crate::ship::{Backoff, Clock};

/// Failures in a row after which it is left alone, until the streams are begun anew.
const MAX_FAILURES: u32 = 8;

/// One that ran for so long has not failed at its start.
const SOUND_NS: i64 = 600_000_000_000;

/// Gaps that are told one by one, the latest.
const MAX_GAPS: usize = 16;

/// A time without a recorder.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Gap {
    /// When its end was noticed: Unix time, ns.
    since_wall_ns: i64,
    /// When the next began.
    until_wall_ns: Option<i64>,
    reason: String,
}

/// How often the recorder of an agent ended, and when the next is due.
pub struct Restarts<C> {
    clock: C,
    backoff: Backoff,
    running_since_ns: Option<i64>,
    restarts_count: u64,
    unrecorded_ns: i64,
    gaps_count: u64,
    gaps: VecDeque<Gap>,
}

impl<C: Clock> Restarts<C> {
    /// A first recorder is being started. `seed` differs between hosts.
    pub fn new(clock: C, seed: u64) -> Self {
        Self {
            running_since_ns: Some(clock.mono_ns()),
            clock,
            backoff: Backoff::new(seed),
            restarts_count: 0,
            unrecorded_ns: 0,
            gaps_count: 0,
            gaps: VecDeque::new(),
        }
    }

    /// Takes how the recorder is now; `None` while it runs, else why it does not.
    pub fn look(&mut self, ended: Option<&str>) {
        let now_ns = self.clock.mono_ns();
        match (ended, self.running_since_ns) {
            (None, Some(since)) if now_ns - since >= SOUND_NS => self.backoff.succeeded(),
            (Some(reason), Some(_)) => {
                self.running_since_ns = None;
                self.backoff.failed(now_ns);
                self.gaps_count += 1;
                self.gaps.push_back(Gap {
                    since_wall_ns: self.clock.wall_ns(),
                    until_wall_ns: None,
                    reason: reason.to_owned(),
                });
                if self.gaps.len() > MAX_GAPS {
                    self.gaps.pop_front();
                }
            }
            _ => {}
        }
    }

    /// Whether another one is to be started now.
    pub fn is_due(&self) -> bool {
        self.running_since_ns.is_none()
            && self.backoff.failures() <= MAX_FAILURES
            && self.backoff.is_due(self.clock.mono_ns())
    }

    /// Another one was started, or could not be.
    pub fn again(&mut self, is_running: bool) {
        let now_ns = self.clock.mono_ns();
        if self.running_since_ns.is_some() {
            // In the place of one that ran.
            return;
        }
        if !is_running {
            self.backoff.failed(now_ns);
            return;
        }
        self.running_since_ns = Some(now_ns);
        self.restarts_count += 1;
        let now_wall_ns = self.clock.wall_ns();
        if let Some(gap) = self.gaps.back_mut() {
            let until = now_wall_ns.max(gap.since_wall_ns);
            gap.until_wall_ns = Some(until);
            self.unrecorded_ns += until - gap.since_wall_ns;
        }
    }

    /// What there is to tell, beside what the recorder says of itself.
    pub fn told(&self, recorder: Value) -> Value {
        let mut told = recorder;
        told["restarts_count"] = self.restarts_count.into();
        told["gaps_count"] = self.gaps_count.into();
        told["unrecorded_ns"] = self.unrecorded_ns.into();
        told["given_up"] =
            (self.running_since_ns.is_none() && self.backoff.failures() > MAX_FAILURES).into();
        told["gaps"] = self
            .gaps
            .iter()
            .map(|gap| {
                json!({
                    "since_wall_ns": gap.since_wall_ns,
                    "until_wall_ns": gap.until_wall_ns,
                    "reason": gap.reason,
                })
            })
            .collect();
        told
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use proptest::prelude::*;

    use super::*;

    const S: i64 = 1_000_000_000;

    #[derive(Clone, Default)]
    struct Hands(Rc<Cell<i64>>);

    impl Hands {
        fn go(&self, seconds: i64) {
            self.0.set(self.0.get() + seconds * S);
        }
    }

    impl Clock for Hands {
        fn mono_ns(&self) -> i64 {
            self.0.get()
        }
        fn wall_ns(&self) -> i64 {
            1_000 * S + self.0.get()
        }
    }

    fn begun() -> (Hands, Restarts<Hands>) {
        let hands = Hands::default();
        (hands.clone(), Restarts::new(hands, 7))
    }

    #[test]
    fn the_gap_reaches_from_the_end_of_one_to_the_begin_of_the_next() {
        let (hands, mut restarts) = begun();
        restarts.look(None);
        assert!(!restarts.is_due());
        hands.go(30);
        restarts.look(Some("killed"));
        restarts.look(Some("killed"));
        assert!(!restarts.is_due(), "it is left alone at first");
        hands.go(1);
        assert!(restarts.is_due());
        restarts.again(true);
        hands.go(5);
        restarts.look(None);
        let told = restarts.told(json!({"state": "running"}));
        assert_eq!(told["state"], "running");
        assert_eq!(told["restarts_count"], 1);
        assert_eq!(told["unrecorded_ns"], S);
        assert_eq!(
            told["gaps"],
            json!([{"since_wall_ns": 1_030 * S, "until_wall_ns": 1_031 * S, "reason": "killed"}])
        );
    }

    #[test]
    fn one_that_cannot_be_executed_is_one_gap_and_given_up() {
        let (hands, mut restarts) = begun();
        restarts.look(Some("No such file"));
        let mut tries = 0;
        for _ in 0..3600 {
            hands.go(1);
            if restarts.is_due() {
                tries += 1;
                restarts.again(false);
                restarts.look(Some("No such file"));
            }
        }
        assert_eq!(tries, 8);
        let told = restarts.told(json!({}));
        assert_eq!(told["given_up"], true);
        assert_eq!(
            (&told["restarts_count"], &told["gaps_count"]),
            (&0.into(), &1.into())
        );
        assert_eq!(told["gaps"][0]["until_wall_ns"], Value::Null);
        // With streams that are begun anew there is one more, which may be sound.
        restarts.again(true);
        assert_eq!(restarts.told(json!({}))["given_up"], false);
        assert_eq!(restarts.told(json!({}))["unrecorded_ns"], 3600 * S);
    }

    #[test]
    fn one_that_ran_for_long_has_all_tries_again() {
        let (hands, mut restarts) = begun();
        for _ in 0..50 {
            restarts.look(Some("killed"));
            hands.go(60);
            assert!(restarts.is_due());
            restarts.again(true);
            hands.go(600);
            restarts.look(None);
        }
        let told = restarts.told(json!({}));
        assert_eq!(told["restarts_count"], 50);
        assert_eq!(told["unrecorded_ns"], 50 * 60 * S);
        assert_eq!(told["gaps"].as_array().unwrap().len(), MAX_GAPS);
    }

    proptest! {
        #[test]
        fn tries_in_a_row_are_bounded_and_no_time_is_counted_twice(
            lives in proptest::collection::vec((0i64..500, any::<bool>()), 0..60)
        ) {
            let (hands, mut restarts) = begun();
            let mut tries = 0;
            for (seconds, is_running) in lives {
                restarts.look(Some("ended"));
                hands.go(seconds);
                if restarts.is_due() {
                    tries += 1;
                    restarts.again(is_running);
                }
                hands.go(1);
                restarts.look(None);
            }
            let told = restarts.told(json!({}));
            prop_assert!(tries <= 8);
            prop_assert!(told["unrecorded_ns"].as_i64().unwrap() <= hands.mono_ns());
            let gaps = told["gaps"].as_array().unwrap();
            // Only the newest may still be open, and is while nothing records.
            prop_assert!(gaps.iter().rev().skip(1).all(|gap| gap["until_wall_ns"].is_i64()));
            let is_open = gaps.last().is_some_and(|gap| gap["until_wall_ns"].is_null());
            prop_assert_eq!(is_open, restarts.running_since_ns.is_none());
            prop_assert!(gaps.windows(2).all(
                |pair| pair[0]["until_wall_ns"].as_i64() <= pair[1]["since_wall_ns"].as_i64()
            ));
        }
    }
}
