//! CPU time of the kernel's own threads, added up by name: what reclaim, writing back and soft
//! interrupts cost the host beside its processes.

use std::collections::{BTreeMap, HashMap};

use crate::output::Recorder;
use crate::parse::process::schedstat;
use crate::sys::{Buffer, Descriptors, ProcFile, mono_ns};

/// The one series of a scope `kernel/<name>`.
pub const SERIES: &str = "cpu_ns";

#[derive(Debug)]
struct Thread {
    schedstat: ProcFile,
    scope: usize,
    run_ns: i64,
}

/// Kernel threads that were seen and are not known to be gone.
#[derive(Debug)]
pub struct KernelThreads {
    descriptors: Descriptors,
    threads: BTreeMap<i32, Thread>,
    /// CPU time since the first pass by scope, of threads that ended too.
    used_ns: HashMap<usize, i64>,
    passes: u64,
}

impl KernelThreads {
    /// None yet.
    pub fn new(descriptors: &Descriptors) -> Self {
        Self {
            descriptors: descriptors.clone(),
            threads: BTreeMap::new(),
            used_ns: HashMap::new(),
            passes: 0,
        }
    }

    /// Takes a thread in, if it is new.
    pub fn add(&mut self, pid: i32, comm: &str, recorder: &mut Recorder, buffer: &mut Buffer) {
        if self.threads.contains_key(&pid) {
            return;
        }
        let mut file = ProcFile::new(&format!("/proc/{pid}/schedstat"), &self.descriptors);
        let Some(counters) = file.read(buffer).ok().and_then(schedstat) else {
            return;
        };
        let scope = recorder.scope(&format!("kernel/{}", kind(comm)));
        self.used_ns.entry(scope).or_insert(0);
        let thread = Thread {
            schedstat: file,
            scope,
            // Of one that came later all its time is new.
            run_ns: if self.passes == 0 { counters.run_ns } else { 0 },
        };
        self.threads.insert(pid, thread);
    }

    /// Reads them all.
    pub fn pass(&mut self, recorder: &mut Recorder, buffer: &mut Buffer) {
        self.passes += 1;
        let used_ns = &mut self.used_ns;
        self.threads.retain(|_, thread| {
            let Some(counters) = thread.schedstat.read(buffer).ok().and_then(schedstat) else {
                return false;
            };
            let grown = (counters.run_ns - thread.run_ns).max(0);
            *used_ns.entry(thread.scope).or_insert(0) += grown;
            thread.run_ns = counters.run_ns;
            true
        });
        let now = mono_ns();
        for (&scope, &used_ns) in &self.used_ns {
            recorder.record(now, scope, SERIES, used_ns);
        }
    }
}

/// What a thread is for: its name without CPU, pool and work. `kworker/u4:2-writeback` works for many:
/// the last word is only what it did last.
fn kind(comm: &str) -> &str {
    match comm.find(['/', ':']) {
        Some(end) => &comm[..end],
        None => comm.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_cpu_pool_and_work() {
        for (comm, expected) in [
            ("kworker/u4:2-writeback", "kworker"),
            ("ksoftirqd/0", "ksoftirqd"),
            ("kswapd0", "kswapd"),
            ("kdamond.0", "kdamond"),
            ("jbd2/vda-8", "jbd2"),
            ("rcu_preempt", "rcu_preempt"),
        ] {
            assert_eq!(kind(comm), expected);
        }
    }

    /// A process of ours stands for a kernel thread: the files are the same.
    #[test]
    fn what_was_used_before_the_first_pass_and_after_the_end_does_not_count() {
        let mut recorder = Recorder::default();
        let mut buffer = Buffer::default();
        let mut threads = KernelThreads::new(&Descriptors::new(8));
        let me = std::process::id() as i32;
        threads.add(me, "kswapd0", &mut recorder, &mut buffer);
        threads.add(me, "kswapd0", &mut recorder, &mut buffer);
        let scope = recorder.scope("kernel/kswapd");
        let begin = threads.threads[&me].run_ns;
        threads.pass(&mut recorder, &mut buffer);
        let now = threads.threads[&me].run_ns;
        assert_eq!(threads.used_ns[&scope], now - begin);
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id() as i32;
        threads.add(pid, "kswapd1", &mut recorder, &mut buffer);
        child.wait().unwrap();
        let before = threads.used_ns[&scope];
        threads.pass(&mut recorder, &mut buffer);
        assert!(!threads.threads.contains_key(&pid), "it is gone");
        assert!(threads.used_ns[&scope] >= before, "what it used stays");
    }
}
