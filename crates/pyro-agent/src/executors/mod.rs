//! Which processes of a host are executors and drivers of Spark, by their command lines and control groups
//! alone: no cluster is asked.

mod cgroup;
mod command_line;
mod discover;
mod proc_tree;
#[cfg(test)]
pub mod tests;

pub use cgroup::{Place, place};
pub use command_line::{Claim, Manager, Role, claim};
pub use discover::{Executor, Process, discover};
pub use proc_tree::ProcTree;
