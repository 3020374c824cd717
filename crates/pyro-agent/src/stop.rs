//! Waiting, until somebody asks for the end.

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
        let mut signals = Signals::new([SIGTERM, SIGINT])?;
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
