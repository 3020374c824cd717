//! When a canary is measured, and what is told of it.

use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use serde_json::{Value, json};

use crate::canary::child::Measuring;
use crate::canary::lines::Lines;
use crate::canary::measured::Measured;
use crate::canary::presence::Presence;

/// One that takes longer is killed: it takes a few tenths of a second.
pub const LIMIT: Duration = Duration::from_secs(20);

/// While one is measured, executors that come are seen within this time.
pub const GLANCE: Duration = Duration::from_millis(100);

/// Canaries that fail again and again become rarer, down to this.
const RAREST: Duration = Duration::from_secs(3600);

/// Both clocks at a moment.
#[derive(Debug, Clone, Copy)]
struct Moment {
    wall_ns: i64,
    mono_ns: i64,
}

impl Moment {
    fn now() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH);
        let mono = clock_gettime(ClockId::Monotonic);
        Self {
            wall_ns: wall.map_or(0, |wall| i64::try_from(wall.as_nanos()).unwrap_or(i64::MAX)),
            mono_ns: mono.tv_sec * 1_000_000_000 + mono.tv_nsec,
        }
    }
}

/// What became of a canary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// It was measured, alone on the host but for what is no Spark.
    Measured,
    /// The program could not be started, ended badly, or printed something else.
    Failed,
    /// It took too long.
    Killed,
    /// An executor or a driver came.
    BrokenOff,
    /// It was not begun: executors or drivers are here.
    NotFree,
}

/// A line of the raw file.
#[derive(Serialize)]
struct Line<'a> {
    schema: &'static str,
    state: State,
    begin_wall_ns: i64,
    begin_mono_ns: i64,
    end_wall_ns: i64,
    end_mono_ns: i64,
    reason: Option<&'a str>,
    #[serde(flatten)]
    measured: Option<&'a Measured>,
}

/// Figures since this process began.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
struct Counts {
    measured_count: u64,
    failed_count: u64,
    killed_count: u64,
    broken_off_count: u64,
    /// When the last one was measured: Unix time, ns.
    last_wall_ns: Option<i64>,
    /// Since when one has been due that could not begin, as the host is not free: Unix time, ns.
    not_free_since_wall_ns: Option<i64>,
    /// What went wrong last.
    last_failure: Option<String>,
}

/// One that is being measured.
struct Running {
    probe: Measuring,
    begun: Moment,
    since: Instant,
    /// It was killed, and why.
    ending: Option<(State, String)>,
}

/// Measures the canary of a host again and again while the host is free.
pub struct Canary {
    program: PathBuf,
    period: Duration,
    limit: Duration,
    presence: Presence,
    lines: Option<Lines>,
    running: Option<Running>,
    due: Instant,
    failures: u32,
    counts: Counts,
    /// The last one that was measured, and what came after it.
    last: [Option<String>; 2],
}

impl Canary {
    /// The first one is due at once.
    pub fn new(program: PathBuf, period: Duration, limit: Duration, presence: Presence) -> Self {
        Self {
            program,
            period,
            limit,
            presence,
            lines: None,
            running: None,
            due: Instant::now(),
            failures: 0,
            counts: Counts::default(),
            last: [None, None],
        }
    }

    /// Lines go there from now on, the last ones of before first: a reader of this folder needs no other.
    pub fn write_to(&mut self, mut lines: Lines) {
        self.last
            .iter()
            .flatten()
            .for_each(|line| lines.append(line));
        self.lines = Some(lines);
    }

    /// Whether one is being measured.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Begins one if it is due and the host free, or sees to the one that is being measured.
    pub fn step(&mut self) {
        match self.running.take() {
            Some(running) => self.see_to(running),
            None if Instant::now() >= self.due => self.begin(),
            None => {}
        }
    }

    fn begin(&mut self) {
        let is_free = self.presence.is_free();
        let begun = Moment::now();
        match is_free {
            Ok(true) => {}
            Ok(false) => return self.not_free(begun, "executors or drivers are there"),
            Err(error) => return self.not_free(begun, &format!("who is there: {error}")),
        }
        self.counts.not_free_since_wall_ns = None;
        match Measuring::start(&self.program) {
            Ok(probe) => {
                self.running = Some(Running {
                    probe,
                    begun,
                    since: Instant::now(),
                    ending: None,
                });
            }
            Err(error) => {
                let reason = format!("{}: {error}", self.program.display());
                self.ended(begun, State::Failed, Some(&reason), None);
            }
        }
    }

    /// Says so once until the host is free again.
    fn not_free(&mut self, now: Moment, reason: &str) {
        if self.counts.not_free_since_wall_ns.is_none() {
            self.counts.not_free_since_wall_ns = Some(now.wall_ns);
            self.tell(now, State::NotFree, Some(reason), None);
        }
    }

    fn see_to(&mut self, mut running: Running) {
        let begun = running.begun;
        match running.probe.ended() {
            Ok(Some(status)) => match running.ending.take() {
                Some((state, reason)) => self.ended(begun, state, Some(&reason), None),
                None if self.presence.has_come() => {
                    self.ended(begun, State::BrokenOff, Some(CAME), None);
                }
                None if !status.success() => {
                    self.ended(begun, State::Failed, Some(&status.to_string()), None);
                }
                None => match Measured::parse(&running.probe.printed()) {
                    Ok(found) => self.ended(begun, State::Measured, None, Some(&found)),
                    Err(reason) => self.ended(begun, State::Failed, Some(&reason), None),
                },
            },
            Ok(None) => {
                if running.ending.is_none() {
                    running.ending = self.why_to_end(&running);
                    if running.ending.is_some() {
                        running.probe.kill();
                    }
                }
                self.running = Some(running);
            }
            Err(error) => self.ended(begun, State::Failed, Some(&error.to_string()), None),
        }
    }

    fn why_to_end(&self, running: &Running) -> Option<(State, String)> {
        if self.presence.has_come() {
            return Some((State::BrokenOff, CAME.to_owned()));
        }
        let is_late = running.since.elapsed() >= self.limit;
        is_late.then(|| {
            let reason = format!("it had not ended after {} s", self.limit.as_secs_f64());
            (State::Killed, reason)
        })
    }

    fn ended(
        &mut self,
        begun: Moment,
        state: State,
        reason: Option<&str>,
        found: Option<&Measured>,
    ) {
        let counts = &mut self.counts;
        let count = match state {
            State::Measured => &mut counts.measured_count,
            State::Failed => &mut counts.failed_count,
            State::Killed => &mut counts.killed_count,
            State::BrokenOff | State::NotFree => &mut counts.broken_off_count,
        };
        *count += 1;
        self.failures = match state {
            State::Failed | State::Killed => self.failures.saturating_add(1),
            _ => 0,
        };
        if self.failures > 0 {
            counts.last_failure = reason.map(str::to_owned);
        }
        // One that was broken off is due again as soon as the host is free.
        if state != State::BrokenOff {
            let rarer = self.period.saturating_mul(1 << self.failures.min(16));
            self.due = Instant::now() + rarer.min(RAREST.max(self.period));
        }
        self.tell(begun, state, reason, found);
    }

    fn tell(
        &mut self,
        begun: Moment,
        state: State,
        reason: Option<&str>,
        measured: Option<&Measured>,
    ) {
        let end = Moment::now();
        let line = Line {
            schema: "pyrometer/canary/1",
            state,
            begin_wall_ns: begun.wall_ns,
            begin_mono_ns: begun.mono_ns,
            end_wall_ns: end.wall_ns,
            end_mono_ns: end.mono_ns,
            reason,
            measured,
        };
        let Ok(text) = serde_json::to_string(&line) else {
            return;
        };
        if let Some(lines) = &mut self.lines {
            lines.append(&text);
        }
        if state == State::Measured {
            self.counts.last_wall_ns = Some(end.wall_ns);
            self.last = [Some(text), None];
        } else {
            self.last[1] = Some(text);
        }
    }

    /// What there is to tell.
    pub fn report(&self) -> Value {
        let state = match &self.running {
            Some(running) if running.ending.is_some() => "ending",
            Some(_) => "measuring",
            None if self.counts.not_free_since_wall_ns.is_some() => "not free",
            None => "waiting",
        };
        let left_out = self.lines.as_ref().map_or(0, Lines::left_out);
        let mut told = json!({
            "state": state,
            "period_s": self.period.as_secs_f64(),
            "lines_left_out_count": left_out,
        });
        if let (Some(told), Ok(Value::Object(counts))) =
            (told.as_object_mut(), serde_json::to_value(&self.counts))
        {
            told.extend(counts);
        }
        told
    }
}

const CAME: &str = "an executor or a driver came";

impl Drop for Canary {
    fn drop(&mut self) {
        if let Some(running) = &mut self.running {
            running.probe.kill();
            let _ = running.probe.ended();
        }
    }
}
