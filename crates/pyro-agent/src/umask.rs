//! The umask, which all threads share. A store has none, so that folders get their rights as they are made; programs
//! that are started inherit the one that this program was given.

use std::io;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::Mode;
use rustix::process::umask;

/// Locked while a program is started. No store may hold it while it writes: one that hangs would hold up whoever starts
/// a program.
static LIFTED: Mutex<Lifted> = Mutex::new(Lifted {
    given: None,
    starts_count: 0,
});

struct Lifted {
    /// The umask that this program was given, once it was lifted.
    given: Option<Mode>,
    starts_count: u64,
}

fn lifted() -> MutexGuard<'static, Lifted> {
    LIFTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lifts the umask for good: whatever this program creates says its rights itself.
pub fn lift() {
    lifted().given.get_or_insert_with(|| umask(Mode::empty()));
}

/// Starts a program, with the umask that this one was given.
///
/// # Errors
/// What the system says.
pub fn start(command: &mut Command) -> io::Result<Child> {
    let mut lifted = lifted();
    let Some(given) = lifted.given else {
        return command.spawn();
    };
    lifted.starts_count += 1;
    umask(given);
    let started = command.spawn();
    umask(Mode::empty());
    started
}

/// How many programs have been started: while it stays the same, nobody has the umask back. Waits for one that is being
/// started.
pub fn starts_count() -> u64 {
    lifted().starts_count
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Stdio;

    use super::*;

    #[test]
    fn programs_inherit_the_umask_that_was_lifted() {
        lift();
        let mut command = Command::new("sh");
        command.args(["-c", "umask"]).stdout(Stdio::piped());
        let told = start(&mut command).unwrap().wait_with_output().unwrap();
        let told = String::from_utf8(told.stdout).unwrap();
        // No other test starts a program now.
        let lifted = lifted();
        let given = lifted.given.unwrap().as_raw_mode();
        assert_eq!(u32::from_str_radix(told.trim(), 8), Ok(given));
        let status = fs::read_to_string("/proc/self/status").unwrap();
        assert!(status.contains("Umask:\t0000\n"), "{status}");
    }
}
