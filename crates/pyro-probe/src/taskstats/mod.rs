//! Delay accounting of followed processes, and every thread's last counters, from the kernel's taskstats.

mod client;
mod delays;
mod exits;
mod guardian;
mod rows;
mod setting;
mod threads;

pub use client::try_taskstats;
pub use delays::Taskstats;
pub use exits::ExitEvent;
pub use guardian::guard;
pub use rows::Row;
pub use setting::{RECORDS, SWITCH};

#[cfg(test)]
mod tests;
