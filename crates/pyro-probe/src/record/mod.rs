//! `pyro-probe record`: follow processes until they are gone.

mod budget;
mod keeper;
mod probe;
mod report;
mod schedule;
mod timing;

use std::io;

use probe::Probe;

use crate::args::Options;
use crate::sys;
use crate::sys::urgency::be_urgent;

/// Name of the process.
const NAME: &str = "pyro-probe";

/// Follows the processes; returns when they are gone, on SIGTERM, or when the folder is gone.
///
/// # Errors
/// If the root is not there or the files cannot be created.
pub fn record(options: &Options) -> io::Result<()> {
    sys::detach();
    // Readers of its own rows know it by this name, wherever its program was executed from.
    let _ = std::fs::write("/proc/self/comm", NAME);
    let mut probe = Probe::start(options)?;
    probe.timing.urgency = be_urgent();
    let reason = probe.run();
    probe.finish(reason);
    Ok(())
}
