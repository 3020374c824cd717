//! What came of trying a capability.

use std::io;

use crate::sys::{Buffer, Descriptors, ProcFile};

/// Reads a file of the kernel at once.
///
/// # Errors
/// If it cannot be read.
pub fn read(path: &str) -> io::Result<String> {
    let mut buffer = Buffer::default();
    ProcFile::new(path, &Descriptors::new(0))
        .read(&mut buffer)
        .map(str::to_owned)
}

/// What came of a try: available, and why or why not, and what to do.
pub struct Outcome {
    /// It works here.
    pub available: bool,
    /// What the try showed.
    pub reason: String,
    /// How to get it; empty where it works.
    pub remedy: &'static str,
}

/// It is available.
pub fn yes(reason: impl Into<String>) -> Outcome {
    Outcome {
        available: true,
        reason: reason.into(),
        remedy: "",
    }
}

/// It is not.
pub fn no(reason: impl Into<String>, remedy: &'static str) -> Outcome {
    Outcome {
        available: false,
        reason: reason.into(),
        remedy,
    }
}
