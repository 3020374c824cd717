//! The process for which the probe records: it ends when that has.

use std::os::fd::{AsRawFd, OwnedFd};

use crate::sys::{mono_ns, start_ticks, wait, watch_exit};

/// A process that is watched: through a descriptor or, where the kernel has none, by its start.
#[derive(Debug)]
pub struct Keeper {
    pid: i32,
    exit: Option<OwnedFd>,
    start_ticks: Option<i64>,
}

impl Keeper {
    /// Watches a process from now on.
    pub fn watch(pid: i32) -> Self {
        Self {
            pid,
            exit: watch_exit(pid),
            start_ticks: start_ticks(pid),
        }
    }

    /// It has ended, maybe before it was watched.
    pub fn is_gone(&self) -> bool {
        match &self.exit {
            Some(exit) => wait(mono_ns(), &[exit.as_raw_fd()])[0],
            None => self.start_ticks.is_none() || start_ticks(self.pid) != self.start_ticks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::process::{Child, Command};

    fn sleeper() -> (Child, i32) {
        let child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id() as i32;
        (child, pid)
    }

    fn end(child: &mut Child) {
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_keeper_that_ended_before_it_was_watched_is_gone() {
        let (mut child, pid) = sleeper();
        let keeper = Keeper::watch(pid);
        assert!(!keeper.is_gone());
        end(&mut child);
        assert!(keeper.is_gone());
        assert!(Keeper::watch(pid).is_gone());
    }

    #[test]
    fn without_a_descriptor_its_start_tells_it_from_another() {
        let (mut child, pid) = sleeper();
        let mut keeper = Keeper::watch(pid);
        keeper.exit = None;
        assert!(!keeper.is_gone());
        let found = keeper.start_ticks;
        keeper.start_ticks = found.map(|ticks| ticks - 1);
        assert!(keeper.is_gone(), "another has its number");
        keeper.start_ticks = found;
        end(&mut child);
        assert!(keeper.is_gone());
    }
}
