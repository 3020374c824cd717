//! How soon the system runs us when a reading is due.
//!
//! A reader that has to wait for a CPU gets it when its thread goes to sleep, and so finds
//! threads asleep more often than they are: on two busy CPUs a thread that slept for 15 % of its
//! time was seen asleep in half of the readings.

use libc::{c_int, c_long};

/// What was granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// Before every ordinary thread (`SCHED_FIFO`, its lowest priority).
    RealTime,
    /// An ordinary thread that asks for short turns, which Linux 6.12 and later let go first
    /// (`PREEMPT_SHORT` in kernel/sched/features.h).
    ShortTurns,
    /// As everybody.
    Ordinary,
}

impl Urgency {
    /// Its name in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::RealTime => "real_time",
            Self::ShortTurns => "short_turns",
            Self::Ordinary => "ordinary",
        }
    }
}

/// `struct sched_attr` in its first version (include/uapi/linux/sched/types.h).
#[repr(C)]
#[derive(Debug, Default)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

const SIZE: u32 = size_of::<Attributes>() as u32;
const RESET_ON_FORK: u64 = 1;
/// The shortest turn that may be asked for (`sched_setattr` in kernel/sched/syscalls.c).
const TURN_NS: u64 = 100_000;

/// Asks for what this thread may have, best first. Timers then fire when they are due, too.
pub fn be_urgent() -> Urgency {
    // SAFETY: no memory is involved. Without it the kernel may be 50 µs late to save interrupts.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    if set(&Attributes {
        policy: libc::SCHED_FIFO as u32,
        flags: RESET_ON_FORK,
        priority: 1,
        ..Attributes::default()
    }) {
        return Urgency::RealTime;
    }
    let mut now = get();
    now.runtime_ns = TURN_NS;
    // Older kernels take the length of a turn for nothing, and do not report it back.
    if set(&now) && get().runtime_ns == TURN_NS {
        return Urgency::ShortTurns;
    }
    Urgency::Ordinary
}

fn set(attributes: &Attributes) -> bool {
    let asked = Attributes {
        size: SIZE,
        ..*attributes
    };
    // SAFETY: the kernel reads the structure, whose size is given.
    unsafe { libc::syscall(libc::SYS_sched_setattr as c_long, 0, &raw const asked, 0) == 0 }
}

fn get() -> Attributes {
    let mut found = Attributes::default();
    // SAFETY: the kernel fills the structure, whose size is given.
    unsafe {
        libc::syscall(
            libc::SYS_sched_getattr as c_long,
            0,
            &raw mut found,
            SIZE as c_int,
            0,
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_granted_is_what_the_system_says() {
        std::thread::spawn(|| {
            let granted = be_urgent();
            let now = get();
            match granted {
                Urgency::RealTime => {
                    assert_eq!((now.policy, now.priority), (libc::SCHED_FIFO as u32, 1));
                }
                Urgency::ShortTurns => assert_eq!(now.runtime_ns, TURN_NS),
                Urgency::Ordinary => assert_eq!(now.policy, libc::SCHED_OTHER as u32),
            }
            // What we start is as it would be without us.
            let of_child = std::thread::spawn(get).join().unwrap();
            if granted == Urgency::RealTime {
                assert_eq!(of_child.policy, libc::SCHED_OTHER as u32);
            }
        })
        .join()
        .unwrap();
    }
}
