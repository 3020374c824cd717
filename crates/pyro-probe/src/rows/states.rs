//! What threads were seen doing, pass by pass, and how passes that saw the same become one row.

use std::rc::Rc;

use crate::parse::thread_record::Record;
use crate::slot::Context;

/// A row is ended after so long, so that a probe that is killed loses no more.
const LONGEST_NS: i64 = 10_000_000_000;

/// What the scheduler had a thread do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It had a CPU.
    OnCpu,
    /// It waited for a CPU.
    RunQueue,
    /// It slept and could be interrupted.
    Sleeping,
    /// It slept and could not.
    Disk,
    /// It was stopped, or traced.
    Stopped,
    /// It was ending.
    Other,
}

impl State {
    /// Word for column `state`.
    pub fn name(self) -> &'static str {
        match self {
            Self::OnCpu => "on_cpu",
            Self::RunQueue => "run_queue",
            Self::Sleeping => "sleeping",
            Self::Disk => "disk",
            Self::Stopped => "stopped",
            Self::Other => "other",
        }
    }

    /// Letter of `/proc/PID/stat`.
    pub fn letter(self) -> &'static str {
        match self {
            Self::OnCpu | Self::RunQueue => "R",
            Self::Sleeping => "S",
            Self::Disk => "D",
            Self::Stopped => "T",
            Self::Other => "X",
        }
    }

    /// From the letter of `/proc/PID/stat`; `None` if it can run: the letter does not show whether it does.
    pub fn of_letter(letter: &str) -> Option<Self> {
        match letter {
            "R" => None,
            "S" | "I" => Some(Self::Sleeping),
            "D" => Some(Self::Disk),
            "T" | "t" => Some(Self::Stopped),
            _ => Some(Self::Other),
        }
    }

    /// From the scheduler's own record. Flags of `__state` are those of `linux/sched.h`.
    pub fn of_record(record: &Record) -> Self {
        const INTERRUPTIBLE: u32 = 0x1;
        const UNINTERRUPTIBLE: u32 = 0x2;
        const STOPPED_OR_TRACED: u32 = 0x4 | 0x8;
        const WAKING: u32 = 0x200;
        const NO_LOAD: u32 = 0x400;
        const LOCK: u32 = 0x1000;
        match record.state {
            _ if record.ended => Self::Other,
            _ if record.on_cpu => Self::OnCpu,
            _ if record.waits_for_cpu => Self::RunQueue,
            0 | WAKING => Self::RunQueue,
            state if state & STOPPED_OR_TRACED != 0 => Self::Stopped,
            state if state & UNINTERRUPTIBLE != 0 && state & NO_LOAD == 0 => Self::Disk,
            state if state & (INTERRUPTIBLE | UNINTERRUPTIBLE | LOCK) != 0 => Self::Sleeping,
            _ => Self::Other,
        }
    }

    /// Whether a thread in this state can go on without being woken.
    pub fn is_runnable(self) -> bool {
        matches!(self, Self::OnCpu | Self::RunQueue)
    }
}

/// Where a thread waits: constant for as long as it is not switched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// Number of the system call.
    pub syscall: Option<i64>,
    /// User stack pointer.
    pub user_sp: Option<i64>,
    /// User instruction pointer.
    pub user_pc: Option<i64>,
    /// Its kernel stack's number.
    pub kernel_stack: Option<i32>,
}

/// What one pass saw a thread doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// What the scheduler had it do.
    pub state: State,
    /// The kernel counted it as waiting for I/O.
    pub io_wait: Option<bool>,
    /// Context switches, or times it got a CPU: other than before if it ran meanwhile.
    pub switches_count: i64,
    /// Where it waits; nowhere on a CPU.
    pub place: Place,
    /// What it said of itself.
    pub context: Option<Context>,
    /// The application's own word for what it does.
    pub annotation: Option<Rc<str>>,
}

/// Passes in a row that saw a thread doing the same: a row of table `thread_states`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// What they saw.
    pub seen: Seen,
    /// First pass.
    pub begin_mono_ns: i64,
    /// Last pass.
    pub end_mono_ns: i64,
    /// Passes.
    pub passes_count: i64,
    /// Time they stand for.
    pub weight_ns: i64,
}

/// The run-length coder of one thread: one row is held, nothing else.
#[derive(Debug, Default)]
pub struct Coder {
    open: Option<Run>,
}

impl Coder {
    /// What the last pass saw.
    pub fn last(&self) -> Option<&Seen> {
        self.open.as_ref().map(|run| &run.seen)
    }

    /// Takes what a pass saw; returns the row before, if this one begins another. The time between
    /// two passes is shared by them.
    pub fn take(&mut self, t_mono_ns: i64, seen: Seen) -> Option<Run> {
        let Some(run) = self.open.as_mut() else {
            self.open = Some(Run::begin(t_mono_ns, 0, seen));
            return None;
        };
        let gap = (t_mono_ns - run.end_mono_ns).max(0);
        if run.seen == seen && run.goes_on(t_mono_ns, gap) {
            return None;
        }
        run.weight_ns += gap - gap / 2;
        self.open.replace(Run::begin(t_mono_ns, gap / 2, seen))
    }

    /// Takes a pass of a thread that has not run since the last one. Its task may differ
    /// all the same: a Python worker's is that of another process.
    pub fn still(
        &mut self,
        t_mono_ns: i64,
        context: Option<Context>,
        annotation: Option<Rc<str>>,
    ) -> Option<Run> {
        let run = self.open.as_mut()?;
        let gap = (t_mono_ns - run.end_mono_ns).max(0);
        let same = run.seen.context == context && run.seen.annotation == annotation;
        if same && run.goes_on(t_mono_ns, gap) {
            return None;
        }
        let seen = run.seen.clone();
        self.take(
            t_mono_ns,
            Seen {
                context,
                annotation,
                ..seen
            },
        )
    }

    /// Hands out the row held: the thread was found gone, or is not looked at any more.
    pub fn end(&mut self, t_mono_ns: i64) -> Option<Run> {
        let mut run = self.open.take()?;
        run.weight_ns += (t_mono_ns - run.end_mono_ns).max(0) / 2;
        Some(run)
    }
}

impl Run {
    fn begin(t_mono_ns: i64, weight_ns: i64, seen: Seen) -> Self {
        Self {
            seen,
            begin_mono_ns: t_mono_ns,
            end_mono_ns: t_mono_ns,
            passes_count: 1,
            weight_ns,
        }
    }

    /// Takes one more pass into the row; false where a row must end.
    fn goes_on(&mut self, t_mono_ns: i64, gap: i64) -> bool {
        let longest = t_mono_ns - self.begin_mono_ns >= LONGEST_NS;
        if longest || self.seen.state == State::OnCpu {
            return false;
        }
        self.end_mono_ns = self.end_mono_ns.max(t_mono_ns);
        self.passes_count += 1;
        self.weight_ns += gap;
        true
    }
}

/// Tells which of the passes that found a thread runnable found it on a CPU, where only its counters
/// are known: as many of them as these say, in the long run, by carrying over what was rounded.
#[derive(Debug, Default)]
pub struct Runnable {
    owed: f64,
}

impl Runnable {
    /// What the thread does, given how its times on a CPU and on run queues grew since the last pass.
    pub fn state(&mut self, run_ns: i64, run_delay_ns: i64) -> State {
        let (run, wait) = (run_ns.max(0) as f64, run_delay_ns.max(0) as f64);
        // The kernel books running time every tick and waiting time when it ends: a thread whose
        // counters stand still waits.
        self.owed += if run + wait > 0.0 {
            wait / (run + wait)
        } else {
            1.0
        };
        if self.owed >= 0.5 {
            self.owed -= 1.0;
            State::RunQueue
        } else {
            State::OnCpu
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seen(state: State, switches_count: i64) -> Seen {
        Seen {
            state,
            io_wait: None,
            switches_count,
            place: Place::default(),
            context: None,
            annotation: None,
        }
    }

    #[test]
    fn passes_of_one_sleep_are_one_row_and_share_the_gaps_with_their_neighbours() {
        let mut coder = Coder::default();
        assert_eq!(coder.take(100, seen(State::OnCpu, 1)), None);
        let first = coder.take(150, seen(State::Sleeping, 2)).unwrap();
        assert_eq!((first.weight_ns, first.passes_count), (25, 1));
        assert_eq!(coder.take(200, seen(State::Sleeping, 2)), None);
        assert_eq!(coder.take(250, seen(State::Sleeping, 2)), None);
        let sleep = coder.take(301, seen(State::Sleeping, 3)).unwrap();
        let times = (sleep.begin_mono_ns, sleep.end_mono_ns);
        assert_eq!(times, (150, 250));
        assert_eq!((sleep.passes_count, sleep.weight_ns), (3, 25 + 100 + 26));
        let last = coder.end(321).unwrap();
        assert_eq!((last.weight_ns, last.begin_mono_ns), (25 + 10, 301));
        assert_eq!(coder.end(400), None);
    }

    #[test]
    fn passes_on_a_cpu_are_a_row_each_and_long_sleeps_end_their_row() {
        let mut coder = Coder::default();
        coder.take(0, seen(State::OnCpu, 1));
        assert!(coder.take(50, seen(State::OnCpu, 1)).is_some());
        coder.take(100, seen(State::Sleeping, 2));
        assert_eq!(coder.still(LONGEST_NS, None, None), None);
        let run = coder.still(LONGEST_NS + 100, None, None).unwrap();
        assert_eq!((run.passes_count, run.begin_mono_ns), (2, 100));
    }

    #[test]
    fn a_sleeper_that_works_for_nothing_any_more_is_another_row() {
        let context = Context {
            sequence: 4,
            task_attempt_id: Some(17),
            stage_id: None,
            stage_attempt: None,
            sql_id: None,
        };
        let mut coder = Coder::default();
        let worker = Seen {
            context: Some(context),
            ..seen(State::Sleeping, 2)
        };
        coder.take(100, worker);
        assert_eq!(coder.still(150, Some(context), None), None);
        let run = coder.still(200, None, None).unwrap();
        assert_eq!((run.seen.context, run.weight_ns), (Some(context), 75));
        let rest = coder.end(240).unwrap();
        assert_eq!((rest.seen.context, rest.begin_mono_ns), (None, 200));
        assert_eq!((rest.seen.state, rest.weight_ns), (State::Sleeping, 45));
    }

    proptest! {
        #[test]
        fn weights_add_up_to_the_time_between_the_first_pass_and_the_end(
            passes in prop::collection::vec((1..1_000_000_000_i64, 0..4_i64, any::<bool>()), 1..80),
            after in 0..1_000_000_i64,
        ) {
            let (mut coder, mut t, mut total, mut counted) = (Coder::default(), 5_i64, 0, 0);
            for (gap, switches, runs) in &passes {
                t += gap;
                let state = if *runs { State::OnCpu } else { State::Sleeping };
                if let Some(run) = coder.take(t, seen(state, *switches)) {
                    prop_assert!(run.begin_mono_ns <= run.end_mono_ns && run.end_mono_ns < t);
                    total += run.weight_ns;
                    counted += run.passes_count;
                }
            }
            let last = coder.end(t + after).unwrap();
            total += last.weight_ns;
            counted += last.passes_count;
            prop_assert_eq!(counted, passes.len() as i64);
            prop_assert_eq!(total, t - 5 - passes[0].0 + after / 2);
        }

        #[test]
        fn as_many_passes_wait_as_the_counters_say(
            steps in prop::collection::vec((0..100_i64, 0..100_i64), 200..400),
        ) {
            let mut runnable = Runnable::default();
            let (mut said, mut share) = (0.0, 0.0);
            for (run, wait) in &steps {
                said += f64::from(u8::from(runnable.state(*run, *wait) == State::RunQueue));
                share += if run + wait > 0 { *wait as f64 / (run + wait) as f64 } else { 1.0 };
            }
            prop_assert!((said - share).abs() <= 0.5 + 1e-6, "{said} {share}");
        }
    }

    #[test]
    fn a_thread_that_never_waits_is_never_said_to() {
        let mut runnable = Runnable::default();
        assert!((0..100).all(|_| runnable.state(50, 0) == State::OnCpu));
        assert!((0..100).all(|_| runnable.state(0, 50) == State::RunQueue));
    }

    #[test]
    fn letters_and_words() {
        for state in [State::Sleeping, State::Disk, State::Stopped, State::Other] {
            assert_eq!(State::of_letter(state.letter()), Some(state));
        }
        assert_eq!(State::of_letter("R"), None);
        assert_eq!(State::RunQueue.letter(), "R");
        assert_eq!(State::Disk.name(), "disk");
    }
}
