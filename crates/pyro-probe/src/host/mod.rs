//! The machine: its constants, its series, and those of the root's control groups.

mod control_group;
pub mod energy;
pub mod kernel_threads;
mod machine;
mod nodes;
mod series;

pub use machine::Machine;
pub use series::Host;

#[cfg(test)]
mod tests;
