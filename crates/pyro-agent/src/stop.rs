//! Waiting, until somebody asks for the end.

use std::fs;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Tells of SIGTERM and SIGINT.
pub struct Stop(Receiver<()>);

impl Stop {
    /// Turns the signals into requests.
    ///
    /// # Errors
    /// What the system says.
    pub fn listen() -> io::Result<Self> {
        let ignored = fs::read_to_string("/proc/self/status").map_or(0, |status| ignored(&status));
        let heeded = [SIGTERM, SIGINT].into_iter();
        // What whoever started us has us ignore, as a shell does in the background, stays ignored.
        let mut signals = Signals::new(heeded.filter(|&number| ignored >> (number - 1) & 1 == 0))?;
        let (tell, told) = channel();
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || signals.forever().try_for_each(|_| tell.send(())))?;
        Ok(Self(told))
    }

    /// Waits for so long; true at once if the end was asked for.
    pub fn wait(&self, time: Duration) -> bool {
        !matches!(self.0.recv_timeout(time), Err(RecvTimeoutError::Timeout))
    }
}

/// Signals that a process ignores, a bit each, by its `status`.
fn ignored(status: &str) -> u64 {
    let digits = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    digits.map_or(0, |digits| {
        u64::from_str_radix(digits.trim(), 16).unwrap_or(0)
    })
}

#[cfg(test)]
mod tests {
    use super::ignored;

    #[test]
    fn ignored_signals_are_read_of_the_status() {
        let status = "Name:\tx\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001003\nSigCgt:\t0\n";
        assert_eq!(ignored(status), 0x1003);
        for other in ["", "SigIgn:", "SigIgn:\tx", "SigIgn:\t11111111111111111"] {
            assert_eq!(ignored(other), 0, "{other}");
        }
    }
}
