//! Constants of the machine.

use crate::sys::sysconf;

/// Constants of the machine.
#[derive(Debug, Clone, Copy)]
pub struct Machine {
    /// Clock ticks per second of `/proc`.
    pub ticks_per_second: i64,
    /// Page size.
    pub page_bytes: i64,
}

impl Machine {
    /// Asks the system.
    pub fn ask() -> Self {
        Self {
            ticks_per_second: sysconf(libc::_SC_CLK_TCK),
            page_bytes: sysconf(libc::_SC_PAGESIZE),
        }
    }
}
