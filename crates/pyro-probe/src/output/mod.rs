//! Where the probe writes: Arrow streams, one for each table, and its report.

mod report;
mod series;
mod stream;
mod streams;
mod thread_counters;

pub use report::{ClockPairs, no_more, replace};
pub use series::Recorder;
pub use streams::{Outputs, numbered};
pub use thread_counters::{Detail, Switches, ThreadRow};
