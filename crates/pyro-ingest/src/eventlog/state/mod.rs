//! What is known of an application while its log is read, and what of that is written when.

mod app;
mod executions;
mod facts;
mod plan;
mod running;
mod seen;
mod stages;
mod sums;
mod symbols;

pub use app::App;
pub use facts::{Executor, Facts};
pub use plan::metric;
pub use running::Running;
pub use seen::Ends;
pub use stages::Job;
pub use sums::Update;
pub use symbols::{Symbol, Symbols};
