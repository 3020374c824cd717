//! What a verb prints.

use std::io::{self, ErrorKind, Write as _};

/// Prints to the standard output. Whoever reads may have read enough: that is no failure.
///
/// # Errors
/// Why it cannot be written.
pub fn say(text: &str) -> Result<(), String> {
    match writeln!(io::stdout().lock(), "{text}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(format!("output: {error}")),
        _ => Ok(()),
    }
}
