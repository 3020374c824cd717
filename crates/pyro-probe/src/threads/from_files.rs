//! Threads as `/proc` shows them (tiers T2 and T3).

use crate::output::Detail;
use crate::parse::process::SchedStat;
use crate::rows::Rows;
use crate::rows::states::State;
use crate::sys::Buffer;

use super::files::{Access, Files, Identified};
use super::table::Threads;
use super::thread::Thread;

/// A thread that did not run in so many readings is read in one pass of [`QUIET_EVERY`] only, and its
/// counters alone: its rows stay right, but the moment when it runs again is known less finely, and
/// its first wait for a CPU after that sleep counts as sleep.
const QUIET_AFTER: u32 = 20;
const QUIET_EVERY: u64 = 4;

impl Threads {
    /// Takes a thread in, if it is new: reads its files, writes its first row.
    pub fn add(&mut self, tid: i32, clock: impl Fn() -> i64, buffer: &mut Buffer, rows: &mut Rows) {
        if self.threads.contains_key(&tid) {
            return;
        }
        let mut files = Files::new(self.pid, tid, &self.descriptors);
        let Some(counters) = files.schedstat(buffer) else {
            return;
        };
        let now = clock();
        let mut thread = Thread::new(self.pid, tid);
        let ticks = self.ticks_per_second;
        let Some(found) = files.detail(buffer, ticks, &mut self.access) else {
            return;
        };
        let detail = thread.identify(found);
        thread.files = Some(Box::new(files));
        let letter = detail.state;
        thread.changed(now, (counters, Some(detail), true), rows);
        thread.see((letter, counters), &mut self.access, buffer, rows);
        self.threads.insert(tid, thread);
        self.seen += 1;
    }

    /// Reads the files of every thread (`all`), or of those whose turn it is; rows for those that
    /// ran, and last rows for those that are gone.
    pub fn pass_files(
        &mut self,
        all: bool,
        clock: impl Fn() -> i64,
        buffer: &mut Buffer,
        rows: &mut Rows,
    ) {
        self.passes += 1;
        self.settled = true;
        let (passes, ticks) = (self.passes, self.ticks_per_second);
        let (readings, access) = (&mut self.readings, &mut self.access);
        let settled = &mut self.settled;
        self.threads.retain(|&tid, thread| {
            let its_turn = (passes + tid as u64).is_multiple_of(QUIET_EVERY);
            if thread.quiet_count >= QUIET_AFTER && !its_turn && !all {
                *settled = false;
                return true;
            }
            *readings += 1;
            let there = thread.read((ticks, clock()), access, buffer, rows);
            *settled &= there;
            there || thread.missed(clock(), rows)
        });
    }
}

impl Thread {
    /// Takes note of its name and start.
    fn identify(&mut self, found: Identified) -> Detail {
        (self.comm, self.start) = (found.comm, found.start);
        found.detail
    }

    /// Reads its files; false once it is gone.
    fn read(
        &mut self,
        (ticks_per_second, now): (i64, i64),
        access: &mut Access,
        buffer: &mut Buffer,
        rows: &mut Rows,
    ) -> bool {
        let Some(mut files) = self.files.take() else {
            return false;
        };
        let Some(counters) = files.schedstat(buffer) else {
            return false;
        };
        if self.exited {
            // It is listed yet, as the main thread is until its process is gone.
            self.files = Some(files);
            return true;
        }
        let last = self.coder.last();
        let changed = counters != self.counters;
        let rested = !changed && last.is_none_or(|seen| !seen.state.is_runnable());
        // One that has woken waits for a CPU before its counters say so.
        if rested && (self.quiet_count >= QUIET_AFTER || !files.is_runnable(buffer)) {
            self.files = Some(files);
            self.quiet_count += 1;
            self.slept_on(now, rows);
            return true;
        }
        self.quiet_count = 0;
        let start = self.start;
        let found = files.detail(buffer, ticks_per_second, access);
        let detail = found.map(|found| self.identify(found));
        self.files = Some(files);
        let letter = detail.as_ref().map_or("X", |detail| detail.state);
        // A new thread under an old number, seen only where files are not kept open.
        let reborn = self.start != start;
        if reborn {
            self.gone(now, rows);
            (self.written_ns, self.read_ns, self.place_of) = (0, 0, None);
        }
        let before = self.counters;
        if changed || reborn {
            self.changed(now, (counters, detail, reborn), rows);
        }
        self.read_ns = now;
        let grown = SchedStat {
            run_ns: counters.run_ns - before.run_ns,
            run_delay_ns: counters.run_delay_ns - before.run_delay_ns,
            timeslices_count: counters.timeslices_count,
        };
        self.see((letter, grown), access, buffer, rows);
        true
    }

    /// Notes what its files say it does, given its letter and how its times grew.
    fn see(
        &mut self,
        (letter, grown): (&str, SchedStat),
        access: &mut Access,
        buffer: &mut Buffer,
        rows: &mut Rows,
    ) {
        let state = State::of_letter(letter)
            .unwrap_or_else(|| self.runnable.state(grown.run_ns, grown.run_delay_ns));
        let slices = grown.timeslices_count;
        let waits = !state.is_runnable() && state != State::Other;
        if waits && self.place_of != Some(slices) {
            let files = self.files.as_mut();
            let read = files.map(|files| files.place(access, buffer, &mut rows.stacks));
            (self.place, self.place_of) = (read.unwrap_or_default(), Some(slices));
        }
        if !waits {
            // `/proc` does not show where it waits for a CPU.
            (self.place, self.place_of) = (Default::default(), None);
        }
        self.saw(state, None, slices, rows);
    }
}
