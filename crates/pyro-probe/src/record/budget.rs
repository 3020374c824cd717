//! How often to read, so that reading costs no more than a share of a CPU.
//!
//! A policy over numbers alone: what time it is, and how much CPU time was used by then.

use std::collections::VecDeque;

use serde_json::{Value, json};

/// Cost is the mean of so long.
const WINDOW_NS: i64 = 5_000_000_000;
/// A mean that is too high for so long is no single burst, which is seen for as long as a window.
const LONG_NS: i64 = 2 * WINDOW_NS;
/// What is too much is known after so long: threads that are new are dear once.
const SETTLED_NS: i64 = 2_000_000_000;
/// No pace is slower, whatever it costs.
const SLOWEST_HZ: f64 = 1.0;
/// Twice as often again only where that fills no more of the budget: costs vary, the pace should not.
const COMFORT: f64 = 0.8;
/// Changes named in the report.
const REPORTED: usize = 64;

/// A pace, and what the one before cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// When.
    pub t_mono_ns: i64,
    /// Readings a second from then on.
    pub hz: f64,
    /// CPU time over time before.
    pub cpu_ratio: f64,
}

/// The pace of reading: that asked for, or a half, a quarter and so on of it.
#[derive(Debug)]
pub struct Pace {
    hz: f64,
    budget_ratio: Option<f64>,
    halvings: u32,
    slowest: u32,
    /// Times and CPU time used by then, at this pace.
    window: VecDeque<(i64, i64)>,
    changes: Vec<Change>,
    changes_count: u64,
    /// Begin and end of what was observed, and of the last change.
    span_ns: Option<(i64, i64)>,
    changed_ns: i64,
    /// Readings that there would have been by the last change.
    readings: f64,
    /// What it costs now, where that is too much and no pace is slower; and since when.
    unheld: Option<(i64, f64)>,
    /// The most that it cost so when that had lasted for long.
    lasting: Option<f64>,
}

impl Pace {
    /// `hz` readings a second at most; without a budget, always.
    pub fn new(hz: f64, budget_ratio: Option<f64>) -> Self {
        Self {
            hz,
            budget_ratio,
            halvings: 0,
            slowest: (hz / SLOWEST_HZ).log2().floor().max(0.0) as u32,
            window: VecDeque::new(),
            changes: Vec::new(),
            changes_count: 0,
            span_ns: None,
            changed_ns: 0,
            readings: 0.0,
            unheld: None,
            lasting: None,
        }
    }

    /// Readings a second now.
    pub fn hz(&self) -> f64 {
        self.hz / f64::from(1_u32 << self.halvings)
    }

    /// Takes note of the CPU time used so far; true if the pace is another one from now on.
    pub fn note(&mut self, now_ns: i64, cpu_ns: i64) -> bool {
        let (begin, _) = *self.span_ns.get_or_insert((now_ns, now_ns));
        self.span_ns = Some((begin, now_ns));
        self.changed_ns = self.changed_ns.max(begin);
        let Some(budget) = self.budget_ratio else {
            return false;
        };
        self.window.push_back((now_ns, cpu_ns));
        // One that is older than the window stays, so that the window is whole.
        while self
            .window
            .get(1)
            .is_some_and(|next| now_ns - next.0 >= WINDOW_NS)
        {
            self.window.pop_front();
        }
        let (since, used) = self.window[0];
        let span = now_ns - since;
        if span < SETTLED_NS {
            return false;
        }
        let ratio = (cpu_ns - used) as f64 / span as f64;
        let halvings = if ratio > budget {
            // What is fixed does not become less: so many at least are needed.
            let needed = (ratio / budget).log2().ceil().max(1.0) as u32;
            self.halvings.saturating_add(needed).min(self.slowest)
        } else if self.halvings > 0 && span >= WINDOW_NS && 2.0 * ratio <= COMFORT * budget {
            self.halvings - 1
        } else {
            self.halvings
        };
        let unheld = ratio > budget && halvings == self.halvings;
        self.note_unheld(now_ns, unheld.then_some(ratio));
        if halvings == self.halvings {
            return false;
        }
        self.readings += (now_ns - self.changed_ns) as f64 / 1e9 * self.hz();
        (self.halvings, self.changed_ns) = (halvings, now_ns);
        self.window.clear();
        self.window.push_back((now_ns, cpu_ns));
        self.changes_count += 1;
        if self.changes.len() < REPORTED {
            self.changes.push(Change {
                t_mono_ns: now_ns,
                hz: self.hz(),
                cpu_ratio: ratio,
            });
        }
        true
    }

    /// Takes note of a cost that no pace holds.
    fn note_unheld(&mut self, now_ns: i64, ratio: Option<f64>) {
        let since_ns = self.unheld.map_or(now_ns, |(since_ns, _)| since_ns);
        self.unheld = ratio.map(|ratio| (since_ns, ratio));
        if now_ns - since_ns >= LONG_NS {
            self.lasting = self.lasting.into_iter().chain(ratio).reduce(f64::max);
        }
    }

    /// The most that passes cost above the budget: now, or for long.
    fn unheld_ratio(&self) -> Option<f64> {
        let now = self.unheld.map(|(_, ratio)| ratio);
        now.into_iter().chain(self.lasting).reduce(f64::max)
    }

    /// Mean of the pace so far.
    fn mean_hz(&self) -> f64 {
        let Some((begin, end)) = self.span_ns.filter(|(begin, end)| end > begin) else {
            return self.hz();
        };
        let readings = self.readings + (end - self.changed_ns) as f64 / 1e9 * self.hz();
        readings / ((end - begin) as f64 / 1e9)
    }

    /// What the report says of it.
    pub fn to_json(&self) -> Value {
        let change = |one: &Change| json!({"t_mono_ns": one.t_mono_ns, "hz": one.hz, "cpu_ratio": one.cpu_ratio});
        json!({
            "asked_hz": self.hz,
            "hz": self.hz(),
            "mean_hz": self.mean_hz(),
            "budget_ratio": self.budget_ratio,
            "unheld_cpu_ratio": self.unheld_ratio(),
            "changes_count": self.changes_count,
            "changes": self.changes.iter().map(change).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: i64 = 1_000_000_000;

    /// A clock, and what reading costs: so much by itself, so much a reading.
    struct Machine {
        now: i64,
        cpu: f64,
    }

    impl Machine {
        /// Lets seconds pass; how often the pace changed.
        fn run(&mut self, pace: &mut Pace, seconds: u32, fixed: f64, reading: f64) -> u32 {
            (0..seconds)
                .map(|_| {
                    self.now += SECOND;
                    self.cpu += (fixed + reading * pace.hz()) * 1e9;
                    u32::from(pace.note(self.now, self.cpu as i64))
                })
                .sum()
        }
    }

    fn started(pace: &mut Pace) -> Machine {
        let machine = Machine {
            now: 7 * SECOND,
            cpu: 3e9,
        };
        pace.note(machine.now, machine.cpu as i64);
        machine
    }

    #[test]
    fn a_costly_reading_is_done_less_often_and_again_when_it_is_cheap() {
        let mut pace = Pace::new(20.0, Some(0.02));
        let mut machine = started(&mut pace);
        assert_eq!(machine.run(&mut pace, 60, 0.0, 0.0009), 0);
        assert_eq!(pace.to_json()["changes"], json!([]));
        // 8 % of a CPU: a half as soon as the mean says so, and what it is after that, again.
        assert_eq!(machine.run(&mut pace, 20, 0.0, 0.004), 2);
        assert_eq!(pace.hz(), 5.0);
        assert_eq!(pace.to_json()["changes"][1]["hz"], 5.0);
        assert_eq!(machine.run(&mut pace, 60, 0.0, 0.0001), 2);
        assert_eq!(pace.hz(), 20.0);
        let report = pace.to_json();
        assert_eq!(report["changes_count"], 4);
        let mean = report["mean_hz"].as_f64().unwrap();
        assert!((12.0..19.0).contains(&mean), "{mean}");
    }

    #[test]
    fn far_too_much_from_the_start_is_a_quarter_in_one_step() {
        let mut pace = Pace::new(20.0, Some(0.02));
        let mut machine = started(&mut pace);
        assert_eq!(machine.run(&mut pace, 2, 0.0, 0.004), 1);
        assert_eq!(pace.hz(), 5.0);
    }

    #[test]
    fn a_budget_that_was_exceeded_for_long_is_told_after_idle_seconds_too() {
        let mut pace = Pace::new(1.0, Some(0.02));
        let mut machine = started(&mut pace);
        for seconds in [1, 4] {
            machine.run(&mut pace, seconds, 0.2, 0.0);
            machine.run(&mut pace, 20, 0.0, 0.0);
            assert!(pace.to_json()["unheld_cpu_ratio"].is_null(), "{seconds} s");
        }
        machine.run(&mut pace, 30, 0.05, 0.0);
        machine.run(&mut pace, 30, 0.04, 0.0);
        machine.run(&mut pace, 20, 0.0, 0.0);
        let told = pace.to_json()["unheld_cpu_ratio"].as_f64().unwrap();
        assert!((told - 0.05).abs() < 1e-6, "{told}");
    }

    #[test]
    fn no_budget_and_no_end() {
        let mut pace = Pace::new(100.0, None);
        let mut machine = started(&mut pace);
        assert_eq!(machine.run(&mut pace, 60, 0.5, 0.01), 0);
        assert_eq!((pace.hz(), pace.mean_hz()), (100.0, 100.0));
        let mut slow = Pace::new(0.5, Some(1e-9));
        let mut machine = started(&mut slow);
        assert_eq!(machine.run(&mut slow, 60, 0.5, 0.01), 0);
        assert_eq!(slow.hz(), 0.5, "it was asked for");
        assert!(slow.to_json()["unheld_cpu_ratio"].as_f64().unwrap() > 0.5);
    }

    proptest! {
        #[test]
        fn the_budget_is_held_or_the_slowest_pace_kept_and_the_pace_comes_to_rest(
            hz in 1.0..1000.0_f64, budget in 0.001..0.2_f64, part in 0.0..0.4_f64,
            reading in 0.0..0.02_f64, noise in prop::collection::vec(0.9..1.1_f64, 1..20),
        ) {
            let (mut pace, fixed) = (Pace::new(hz, Some(budget)), budget * part);
            let mut machine = started(&mut pace);
            machine.run(&mut pace, 120, fixed, reading);
            let rest = pace.hz();
            prop_assert!(rest <= hz && rest >= SLOWEST_HZ);
            // Costs that vary by a tenth do not move it to and fro.
            let moves: u32 = noise.iter().map(|part| {
                machine.run(&mut pace, 10, fixed * part, reading * part)
            }).sum();
            prop_assert!(moves <= 1, "{moves} changes");
            let share = fixed + reading * pace.hz();
            prop_assert!(share <= 1.12 * budget || pace.hz() < 2.0 * SLOWEST_HZ, "{share} {budget}");
            // No slower than it must be: twice as often would leave no comfort.
            prop_assert!(pace.hz() == hz || 2.0 * share > 0.7 * budget, "{share} {budget}");
        }

        #[test]
        fn whatever_the_costs_are_the_pace_is_one_of_its_steps(
            costs in prop::collection::vec(0.0..0.3_f64, 1..200), budget in 0.001..0.2_f64,
        ) {
            let mut pace = Pace::new(20.0, Some(budget));
            let mut machine = started(&mut pace);
            for cost in costs {
                machine.run(&mut pace, 1, cost, 0.0);
                prop_assert!([20.0, 10.0, 5.0, 2.5, 1.25].contains(&pace.hz()));
            }
            let mean = pace.mean_hz();
            prop_assert!((1.25..=20.0).contains(&mean), "{mean}");
            prop_assert!(pace.changes.len() as u64 == pace.changes_count.min(REPORTED as u64));
        }
    }
}
