//! When a recorder that ended is started again, and what nobody recorded meanwhile.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::ship::{Backoff, Clock};
use crate::verbs::recorder::AGENT_ENDED;

/// Failures in a row after which it is left alone, until the streams are begun anew.
const MAX_FAILURES: u32 = 8;

/// One that ran for so long has not failed at its start.
const SOUND_NS: i64 = 600_000_000_000;

/// Gaps that are told one by one, the latest.
const MAX_GAPS: usize = 16;

/// Larger numbers are no times, and sums of two stay numbers.
const MOST: i64 = 1 << 61;

/// A time without a recorder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Gap {
    /// When its end was noticed: Unix time, ns.
    since_wall_ns: i64,
    /// When the next began.
    until_wall_ns: Option<i64>,
    reason: String,
}

/// What there is to tell, by later agents of the folder, too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Account {
    restarts_count: u64,
    gaps_count: u64,
    unrecorded_ns: i64,
    gaps: VecDeque<Gap>,
}

impl Account {
    /// Whether an agent can have told it: whoever else writes into the folder may have made it up.
    fn is_sound(&self) -> bool {
        let is_time = |ns: i64| (0..MOST).contains(&ns);
        let is_count = |count: u64| i64::try_from(count).is_ok_and(is_time);
        let is_gap = |gap: &Gap| {
            let until = gap.until_wall_ns.unwrap_or(gap.since_wall_ns);
            is_time(gap.since_wall_ns) && is_time(until) && until >= gap.since_wall_ns
        };
        let mut earlier = self.gaps.iter().rev().skip(1);
        is_count(self.restarts_count)
            && is_count(self.gaps_count)
            && is_time(self.unrecorded_ns)
            && self.gaps.len() <= MAX_GAPS
            && self.gaps.iter().all(is_gap)
            && earlier.all(|gap| gap.until_wall_ns.is_some())
    }

    fn begin_gap(&mut self, since_wall_ns: i64, reason: &str) {
        self.gaps_count += 1;
        self.gaps.push_back(Gap {
            since_wall_ns,
            until_wall_ns: None,
            reason: reason.to_owned(),
        });
        if self.gaps.len() > MAX_GAPS {
            self.gaps.pop_front();
        }
    }

    fn end_gap(&mut self, now_wall_ns: i64) {
        self.restarts_count += 1;
        if let Some(gap) = self.gaps.back_mut() {
            let until = now_wall_ns.max(gap.since_wall_ns);
            gap.until_wall_ns = Some(until);
            self.unrecorded_ns += until - gap.since_wall_ns;
        }
    }
}

/// How often the recorder of an agent ended, and when the next is due.
pub struct Restarts<C> {
    clock: C,
    backoff: Backoff,
    running_since_ns: Option<i64>,
    account: Account,
}

impl<C: Clock> Restarts<C> {
    /// A first recorder is being started. `seed` differs between hosts.
    pub fn new(clock: C, seed: u64) -> Self {
        Self {
            running_since_ns: Some(clock.mono_ns()),
            clock,
            backoff: Backoff::new(seed),
            account: Account::default(),
        }
    }

    /// An earlier agent had one, and what it told of it stays told. `missed_since_wall_ns`: since
    /// when there has been something to record and no recorder, if there is.
    pub fn after(clock: C, seed: u64, told: Value, missed_since_wall_ns: Option<i64>) -> Self {
        let mut restarts = Self::new(clock, seed);
        restarts.running_since_ns = None;
        let account: Account = serde_json::from_value(told).unwrap_or_default();
        if account.is_sound() {
            restarts.account = account;
        }
        // Where that recorder had ended before its agent did, the gap has begun already.
        let last = restarts.account.gaps.back();
        let ended = last.map_or(Some(0), |gap| gap.until_wall_ns);
        if let (Some(since), Some(ended)) = (missed_since_wall_ns, ended) {
            restarts.account.begin_gap(since.max(ended), AGENT_ENDED);
        }
        restarts
    }

    /// Takes how the recorder is now; `None` while it runs, else why it does not.
    pub fn look(&mut self, ended: Option<&str>) {
        let now_ns = self.clock.mono_ns();
        match (ended, self.running_since_ns) {
            (None, Some(since)) if now_ns - since >= SOUND_NS => self.backoff.succeeded(),
            (Some(reason), Some(_)) => {
                self.running_since_ns = None;
                self.backoff.failed(now_ns);
                self.account.begin_gap(self.clock.wall_ns(), reason);
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
        self.account.end_gap(self.clock.wall_ns());
    }

    /// What there is to tell, beside what the recorder says of itself.
    pub fn told(&self, recorder: Value) -> Value {
        let account = &self.account;
        let mut told = recorder;
        told["restarts_count"] = account.restarts_count.into();
        told["gaps_count"] = account.gaps_count.into();
        told["unrecorded_ns"] = account.unrecorded_ns.into();
        told["given_up"] =
            (self.running_since_ns.is_none() && self.backoff.failures() > MAX_FAILURES).into();
        told["gaps"] = json!(account.gaps);
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

    #[test]
    fn what_an_earlier_agent_told_stays_told_and_its_end_is_a_gap() {
        let (hands, mut first) = begun();
        hands.go(10);
        first.look(Some("killed"));
        hands.go(1);
        first.again(true);
        let told = first.told(json!({"state": "running", "pid": 7, "reason": null}));
        hands.go(9);
        let mut second = Restarts::after(hands.clone(), 7, told, Some(1_018 * S));
        second.again(true);
        let told = second.told(json!({"state": "running"}));
        assert_eq!(
            (
                &told["restarts_count"],
                &told["gaps_count"],
                &told["unrecorded_ns"]
            ),
            (&2.into(), &2.into(), &(3 * S).into())
        );
        assert_eq!(
            told["gaps"][1],
            json!({"since_wall_ns": 1_018 * S, "until_wall_ns": 1_020 * S, "reason": AGENT_ENDED})
        );
        assert_eq!(told["gaps"][0]["reason"], "killed");

        // One that was not there when its agent was killed is one gap.
        second.look(Some("given up"));
        hands.go(5);
        let told = second.told(json!({"state": "ended"}));
        let mut third = Restarts::after(hands.clone(), 7, told, Some(1_018 * S));
        third.again(true);
        let told = third.told(json!({}));
        assert_eq!(told["gaps_count"], 3);
        assert_eq!(told["gaps"][2]["reason"], "given up");
        assert_eq!(told["unrecorded_ns"], 8 * S);

        // Where there is nothing to record any more nothing is missed.
        let last = Restarts::after(hands, 7, told.clone(), None).told(json!({}));
        assert_eq!(last, told);
    }

    #[test]
    fn what_no_agent_can_have_told_is_left_out() {
        let gap = |since: i64, until: Option<i64>| {
            let reason = "made up";
            json!({"since_wall_ns": since, "until_wall_ns": until, "reason": reason})
        };
        let told = |count: i64, gaps: Vec<Value>| {
            let mut told = json!({"restarts_count": 0, "gaps_count": count, "unrecorded_ns": 0});
            told["gaps"] = gaps.into();
            told
        };
        let open = gap(1, None);
        for made_up in [
            Value::Null,
            json!("running"),
            json!({"gaps": [open]}),
            told(-1, vec![]),
            told(i64::MAX, vec![]),
            told(1, vec![gap(i64::MAX, None)]),
            told(1, vec![gap(2, Some(1))]),
            told(2, vec![open.clone(), open.clone()]),
            told(17, vec![gap(1, Some(1)); 17]),
        ] {
            let (hands, _) = begun();
            let mut restarts = Restarts::after(hands, 7, made_up.clone(), Some(999 * S));
            restarts.again(true);
            let told = restarts.told(json!({}));
            assert_eq!(
                (&told["gaps_count"], &told["unrecorded_ns"]),
                (&1.into(), &S.into()),
                "{made_up}"
            );
        }
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
