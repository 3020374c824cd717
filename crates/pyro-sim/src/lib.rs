//! Schedules the tasks of an application on executors, as Spark's scheduler would: no clock, no
//! file, no start time of the measured run. Times are nanoseconds since the application began.
//!
//! [`Plan`] says what there is to do, [`Cluster`] on what, [`Law`] how tasks slow one another down;
//! [`run`] gives an [`Outcome`]. [`simulate_json`] does many schedules of a plan for the bindings.

mod account;
mod cluster;
mod engine;
mod hosts;
mod law;
mod outcome;
mod plan;
mod request;
mod resample;
mod work;

pub use account::SlotTime;
pub use cluster::{Cluster, Executor};
pub use engine::run;
pub use law::Law;
pub use outcome::Outcome;
pub use plan::{FAR, Node, Plan, Task};
pub use request::{TaskColumns, simulate_json};

/// What is wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// Either a value or what is wrong with the request.
pub type Result<T> = std::result::Result<T, Error>;
