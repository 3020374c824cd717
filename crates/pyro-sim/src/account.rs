//! Where the time of all slots went.

use serde::Serialize;

/// Time of slots by cause; the parts add up to `total_ns`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct SlotTime {
    /// ∫ slots dt.
    pub total_ns: f64,
    /// Tasks whose result counted, without their scheduling delay.
    pub useful_ns: f64,
    /// Tasks that failed, were killed, or whose result was lost.
    pub retries_ns: f64,
    /// The slot waited for the scheduler, inside a task attempt.
    pub scheduling_delay_ns: f64,
    /// No stage was running.
    pub driver_ns: f64,
    /// Tasks waited, and the free slots could not take them: too far from their data, or of another
    /// kind.
    pub waiting_to_launch_ns: f64,
    /// The running stages have fewer tasks than there are slots.
    pub too_few_tasks_ns: f64,
    /// All tasks launched, the last ones still running.
    pub stage_tail_ns: f64,
}

/// What is going on, as far as idle slots depend on it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Now {
    pub alive: u64,
    pub running: u64,
    /// Stages that run.
    pub active: u64,
    /// Their tasks in all, and those not yet launched.
    pub planned: u64,
    pub pending: u64,
}

impl SlotTime {
    /// Charges a stretch of time in which nothing changed.
    pub(crate) fn pass(&mut self, time_ns: f64, now: Now) {
        self.total_ns += now.alive as f64 * time_ns;
        let idle_ns = now.alive.saturating_sub(now.running) as f64 * time_ns;
        let cause = if now.active == 0 {
            &mut self.driver_ns
        } else if now.pending > 0 {
            &mut self.waiting_to_launch_ns
        } else if now.planned < now.alive {
            &mut self.too_few_tasks_ns
        } else {
            &mut self.stage_tail_ns
        };
        *cause += idle_ns;
    }

    /// Charges the slot of a task that ended; `delay` is the share that was scheduling delay.
    pub(crate) fn ended(&mut self, time_ns: f64, wasted: bool, delay: f64) {
        if wasted {
            self.retries_ns += time_ns;
        } else {
            self.scheduling_delay_ns += time_ns * delay;
            self.useful_ns += time_ns * (1.0 - delay);
        }
    }
}
