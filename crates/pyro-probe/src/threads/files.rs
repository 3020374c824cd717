//! The files of one thread in `/proc`, kept open, the cheapest read first.

use crate::kernel_stacks::KernelStacks;
use crate::output::Detail;
use crate::parse::counters::{Comm, IoBytes};
use crate::parse::process::{self, SchedStat, schedstat, stack_symbols, stat, syscall};
use crate::parse::ticks_ns;
use crate::rows::states::Place;
use crate::sys::{Buffer, Descriptors, ProcFile};

/// What of `/proc/PID/task/TID` may be read; found out by trying.
#[derive(Debug, Clone, Copy)]
pub struct Access {
    syscall: bool,
    stack: bool,
    wchan: bool,
    io: bool,
}

impl Access {
    /// All of it (`places`), or nothing but counters and states.
    pub fn new(places: bool) -> Self {
        Self {
            syscall: places,
            stack: places,
            wchan: places,
            io: places,
        }
    }
}

/// What `stat` and `io` know of a thread.
#[derive(Debug)]
pub struct Identified {
    /// Name.
    pub comm: Comm,
    /// Start in clock ticks: another one under the same number is another thread.
    pub start: i64,
    /// Counters.
    pub detail: Detail,
}

/// The files.
#[derive(Debug)]
pub struct Files {
    schedstat: ProcFile,
    stat: ProcFile,
    syscall: ProcFile,
    stack: ProcFile,
    wchan: ProcFile,
    io: ProcFile,
}

impl Files {
    /// Names them; each is opened as it is read first.
    pub fn new(pid: i32, tid: i32, descriptors: &Descriptors) -> Self {
        let file =
            |name: &str| ProcFile::new(&format!("/proc/{pid}/task/{tid}/{name}"), descriptors);
        Self {
            schedstat: file("schedstat"),
            stat: file("stat"),
            syscall: file("syscall"),
            stack: file("stack"),
            wchan: file("wchan"),
            io: file("io"),
        }
    }

    /// The scheduler's counters; `None` once the thread is gone.
    pub fn schedstat(&mut self, buffer: &mut Buffer) -> Option<SchedStat> {
        schedstat(self.schedstat.read(buffer).ok()?)
    }

    /// Whether it runs or waits for a CPU.
    pub(super) fn is_runnable(&mut self, buffer: &mut Buffer) -> bool {
        let text = self.stat.read(buffer).unwrap_or_default();
        // The name before it may have brackets, too.
        text.rsplit(')')
            .next()
            .is_some_and(|behind| behind.starts_with(" R"))
    }

    /// What `stat` and `io` know.
    pub(super) fn detail(
        &mut self,
        buffer: &mut Buffer,
        ticks_per_second: i64,
        access: &mut Access,
    ) -> Option<Identified> {
        let parsed = stat(self.stat.read(buffer).ok()?)?;
        let (comm, start) = (Comm::of(parsed.comm.as_bytes()), parsed.start_ticks);
        let mut detail = Detail {
            state: letter(parsed.state),
            user_ns: ticks_ns(parsed.user_ticks, ticks_per_second),
            system_ns: ticks_ns(parsed.system_ticks, ticks_per_second),
            minor_faults_count: parsed.minor_faults_count,
            major_faults_count: parsed.major_faults_count,
            switches: None,
            io: IoBytes::default(),
            cpu: i32::try_from(parsed.cpu).unwrap_or(-1),
        };
        if let Some(text) = allowed(&mut access.io, &mut self.io, buffer) {
            detail.io = process::io_bytes(text);
        }
        Some(Identified {
            comm,
            start,
            detail,
        })
    }

    /// Where the thread waits, as far as that may be read.
    pub fn place(
        &mut self,
        access: &mut Access,
        buffer: &mut Buffer,
        stacks: &mut KernelStacks,
    ) -> Place {
        let mut place = Place::default();
        if let Some(text) = allowed(&mut access.syscall, &mut self.syscall, buffer)
            && let Some(at) = syscall(text)
        {
            place.syscall = at.number;
            (place.user_sp, place.user_pc) = (Some(at.user_sp), Some(at.user_pc));
        }
        if let Some(text) = allowed(&mut access.stack, &mut self.stack, buffer) {
            place.kernel_stack = stacks.of_symbols(stack_symbols(text));
        }
        // Only the function that it waits in: a stack of one frame.
        if !access.stack
            && let Some(text) = allowed(&mut access.wchan, &mut self.wchan, buffer)
            && text != "0"
        {
            place.kernel_stack = stacks.of_symbols(std::iter::once(text));
        }
        place
    }
}

/// What stands in the file, if it may be read; what may not is not tried again.
fn allowed<'a>(access: &mut bool, file: &mut ProcFile, buffer: &'a mut Buffer) -> Option<&'a str> {
    if !*access {
        return None;
    }
    match file.read(buffer) {
        Ok(text) => Some(text),
        Err(error) => {
            *access = !matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM));
            None
        }
    }
}

/// The state's letter as one of ours that stay.
fn letter(letter: &str) -> &'static str {
    const KNOWN: [&str; 10] = ["R", "S", "D", "T", "t", "X", "Z", "I", "P", "W"];
    let known = KNOWN.into_iter().find(|known| *known == letter);
    known.unwrap_or("?")
}
