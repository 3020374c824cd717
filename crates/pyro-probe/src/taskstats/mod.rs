//! Delay accounting of followed processes, and every thread's last counters, from the kernel's taskstats.

mod client;
mod delays;
mod rows;
mod setting;

pub use client::try_taskstats;
pub use delays::{ExitEvent, SWITCH, Taskstats};
pub use rows::Row;
pub use setting::RECORDS;

#[cfg(test)]
mod tests;
