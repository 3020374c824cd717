//! The machine: its constants, its series, and those of control groups.

mod control_group;
pub mod energy;
pub mod kernel_threads;
mod machine;
mod nodes;
mod quotas;
mod series;

pub use machine::Machine;
pub use series::Host;

#[cfg(test)]
mod tests;
