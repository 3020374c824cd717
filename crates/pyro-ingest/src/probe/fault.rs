//! Why reading a stream stopped.

use std::io;

use pyro_model::Error;

/// Why reading a stream stopped.
#[derive(Debug)]
pub enum Fault {
    /// The file could not be read.
    Read(io::Error),
    /// The table could not be written.
    Write(Error),
    /// The stream ends in the middle, or without its end mark.
    Cut,
    /// What is there is no such stream.
    Unreadable(String),
}

impl Fault {
    /// A message that cannot be decoded.
    pub fn damaged(error: impl std::fmt::Display) -> Self {
        Self::Unreadable(format!("damaged message: {error}"))
    }
}
