//! Why an event was not taken.

use pyro_model::Error;

use crate::eventlog::json::Malformed;

/// Why an event was not taken.
#[derive(Debug)]
pub enum EventError {
    /// The line is damaged: counted, and reading goes on.
    Line(Malformed),
    /// The tables cannot be written.
    Tables(Error),
}

impl From<Malformed> for EventError {
    fn from(bad: Malformed) -> Self {
        Self::Line(bad)
    }
}

impl From<Error> for EventError {
    fn from(error: Error) -> Self {
        Self::Tables(error)
    }
}
