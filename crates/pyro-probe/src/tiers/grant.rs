//! How well threads can be seen here: each tier is tried, none is inferred.

use crate::bpf::{Kernel, Refusal, ThreadIterator};
use crate::events::Recording;
use crate::sys::{Buffer, Descriptors, ProcFile};

/// Tiers, from the most exact one on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// The kernel's records of threads, and the scheduler's events.
    T0,
    /// The kernel's records of threads.
    T1,
    /// `/proc`, with the place where a thread waits.
    T2,
    /// `/proc`, counters and states alone.
    T3,
}

impl Tier {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::T0 => "T0",
            Self::T1 => "T1",
            Self::T2 => "T2",
            Self::T3 => "T3",
        }
    }

    /// From its name.
    pub fn from_name(word: &str) -> Option<Self> {
        [Self::T0, Self::T1, Self::T2, Self::T3]
            .into_iter()
            .find(|tier| tier.name() == word)
    }
}

/// What can be had of what was asked for.
pub struct Granted {
    /// The tier.
    pub tier: Tier,
    /// Why it is not a better one.
    pub reason: Option<String>,
    /// Reads threads, at T1 and better.
    pub iterator: Option<ThreadIterator>,
    /// The scheduler's events, at T0.
    pub events: Option<Recording>,
}

/// Tries the tier that was asked for, the best one by default, and then those below it.
pub fn grant(asked: Option<Tier>, root_pid: i32) -> Granted {
    let mut reasons = Vec::new();
    let asked = asked.unwrap_or(Tier::T0);
    let mut refused = |tier: Tier, Refusal { reason, remedy }| {
        reasons.push(format!("{}: {reason} ({remedy})", tier.name()));
    };
    let (mut iterator, mut events) = (None, None);
    if asked <= Tier::T1 {
        match Kernel::read() {
            Ok(kernel) => {
                let loaded = ThreadIterator::load(&kernel);
                iterator = loaded.map_err(|why| refused(Tier::T1, why)).ok();
                if asked == Tier::T0 && iterator.is_some() {
                    let started = Recording::start(&kernel);
                    events = started.map_err(|why| refused(Tier::T0, why)).ok();
                }
            }
            Err(why) => refused(Tier::T1, why),
        }
    }
    let tier = match iterator {
        Some(_) if events.is_some() => Tier::T0,
        Some(_) => Tier::T1,
        None if asked == Tier::T3 => Tier::T3,
        None => match places(root_pid) {
            Ok(()) => Tier::T2,
            Err(why) => {
                reasons.push(format!("T2: {why}"));
                Tier::T3
            }
        },
    };
    Granted {
        tier,
        reason: (!reasons.is_empty()).then(|| reasons.join("; ")),
        iterator,
        events,
    }
}

/// Whether it may be read where a process waits.
fn places(pid: i32) -> Result<(), String> {
    let path = format!("/proc/{pid}/syscall");
    let mut buffer = Buffer::default();
    let read = ProcFile::new(&path, &Descriptors::new(0))
        .read(&mut buffer)
        .map(drop);
    read.map_err(|error| {
        format!(
            "{path}: {error} (Run as the same user or as root, or give pyro-probe CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH.)"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tiers_of_files_are_always_granted() {
        let pid = std::process::id() as i32;
        for asked in [Tier::T2, Tier::T3] {
            let granted = grant(Some(asked), pid);
            assert_eq!((granted.tier, granted.reason), (asked, None));
            assert!(granted.iterator.is_none());
        }
    }

    #[test]
    fn what_is_not_granted_has_a_reason() {
        for asked in [None, Some(Tier::T0), Some(Tier::T1)] {
            let granted = grant(asked, std::process::id() as i32);
            assert_eq!(granted.iterator.is_some(), granted.tier <= Tier::T1);
            assert_eq!(granted.events.is_some(), granted.tier == Tier::T0);
            let as_asked = granted.tier <= asked.unwrap_or(Tier::T0);
            assert_eq!(granted.reason.is_none(), as_asked, "{:?}", granted.reason);
        }
    }

    #[test]
    fn names() {
        for tier in [Tier::T0, Tier::T1, Tier::T2, Tier::T3] {
            assert_eq!(Tier::from_name(tier.name()), Some(tier));
        }
        assert_eq!(Tier::from_name("T4"), None);
    }
}
