//! Threads as the kernel's iterator returns them (tiers T0 and T1).

use std::io;
use std::rc::Rc;

use crate::bpf::ThreadIterator;
use crate::parse::thread_record::{Observation, Record};
use crate::rows::Rows;
use crate::rows::states::{Place, State};
use crate::sys::mono_ns;

use super::table::{Source, Threads};
use super::thread::Thread;

impl Threads {
    /// Takes in the records of all threads; last rows for those that are gone.
    ///
    /// # Errors
    /// If the kernel returns no records.
    pub fn pass_records(
        &mut self,
        iterator: &mut ThreadIterator,
        rows: &mut Rows,
    ) -> io::Result<()> {
        let Source::Records(link) = &self.source else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let link = Rc::clone(link);
        self.passes += 1;
        self.settled = true;
        let (begun, mut there) = (mono_ns(), 0);
        iterator.read(&link, |observed| {
            there += usize::from(match observed {
                Observation::Seen(record) => self.take(record, rows),
                Observation::Asleep(tid) => self.asleep(tid, begun, rows),
            });
        })?;
        if there < self.threads.len() {
            let (pass, now, mut settled) = (self.passes, mono_ns(), self.settled);
            self.threads.retain(|_, thread| {
                let there = thread.pass == pass;
                settled &= there;
                there || thread.missed(now, rows)
            });
            self.settled = settled;
        }
        Ok(())
    }

    /// Takes a thread's record; true if it is the first of it in this pass.
    fn take(&mut self, record: &Record, rows: &mut Rows) -> bool {
        let counters = &record.counters;
        let (pid, tid, now) = (self.pid, counters.tid, counters.t_mono_ns);
        if tid <= 0 {
            return false;
        }
        self.readings += 1;
        let thread = self.threads.entry(tid);
        let thread = thread.or_insert_with(|| Thread::new(pid, tid));
        // One that ended is listed for a moment yet, and taskstats give its start less finely. Another
        // one under its number starts after its end.
        let ended_before = thread.exited && counters.start_ns <= thread.read_ns;
        let known = thread.start == counters.start_ns || ended_before;
        if thread.pass != 0 && !known {
            thread.gone(now, rows);
            *thread = Thread::new(pid, tid);
        }
        let first = thread.pass == 0;
        let again = thread.pass == self.passes;
        thread.pass = self.passes;
        thread.found();
        if thread.exited {
            return !again;
        }
        thread.comm = counters.comm;
        let (state, mistaken) = (State::of_record(record), thread.mistaken_ns);
        let scheduled = thread.counters_of(counters);
        self.mistaken_ns += thread.mistaken_ns - mistaken;
        self.settled &= !state.is_runnable();
        if first {
            thread.start = counters.start_ns;
            self.seen += 1;
        }
        if first || scheduled != thread.counters {
            let detail = thread.detail_of(counters, state);
            thread.changed(now, (scheduled, Some(detail), first), rows);
        }
        thread.read_ns = now;
        if !record.as_before && !record.on_cpu {
            thread.place = Place {
                syscall: record.syscall,
                user_sp: record.user_sp,
                user_pc: record.user_pc,
                kernel_stack: rows.stacks.of_addresses(record.frames()),
            };
        }
        let switches = counters
            .voluntary_count
            .saturating_add(counters.involuntary_count);
        thread.saw(state, Some(record.io_wait), switches, rows);
        !again
    }

    /// Takes note of a thread that slept since its last record, so that it still did as the pass began.
    fn asleep(&mut self, tid: i32, begun: i64, rows: &mut Rows) -> bool {
        let Some(thread) = self.threads.get_mut(&tid) else {
            return false;
        };
        self.readings += 1;
        let again = thread.pass == self.passes;
        thread.pass = self.passes;
        thread.found();
        thread.asleep_until(begun);
        thread.slept_on(begun, rows);
        !again
    }
}
