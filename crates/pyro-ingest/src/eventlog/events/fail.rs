//! Why an event was not taken.

use pyro_model::Error;

use crate::eventlog::json::Bad;

/// Why an event was not taken.
#[derive(Debug)]
pub enum Fail {
    /// The line is damaged: counted, and reading goes on.
    Line(Bad),
    /// The tables cannot be written.
    Tables(Error),
}

impl From<Bad> for Fail {
    fn from(bad: Bad) -> Self {
        Self::Line(bad)
    }
}

impl From<Error> for Fail {
    fn from(error: Error) -> Self {
        Self::Tables(error)
    }
}
