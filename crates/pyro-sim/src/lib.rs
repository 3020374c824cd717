//! Schedules the tasks of an application on executors, as Spark's scheduler would: no clock, no
//! file, no start time of the measured run. Times are nanoseconds since the application began.
//!
//! [`Plan`] says what there is to do, [`Cluster`] on what, [`Law`] how tasks slow one another down;
//! [`run`] gives an [`Outcome`]. [`Scheduler`] does many schedules of a plan for the bindings.

mod account;
mod cluster;
mod columns;
mod engine;
mod error;
mod free;
mod hosts;
mod known;
mod law;
mod outcome;
mod plan;
mod request;
mod resample;
mod work;

pub use account::SlotTime;
pub use cluster::{Cluster, Executor};
pub use columns::{TaskKinds, Times};
pub use engine::run;
pub use error::{Error, Result};
pub use law::Law;
pub use outcome::Outcome;
pub use plan::{FAR, Node, Plan, Task};
pub use request::{KnownSchedule, Scheduler};
