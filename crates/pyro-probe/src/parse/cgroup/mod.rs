//! Files of control groups, v1 and v2, and where they are mounted.

mod files;
mod mounts;
mod series;
pub mod v1;

pub use files::*;
pub use mounts::{Mount, folder, mounts, ruling_cpus};
pub use series::*;

#[cfg(test)]
mod tests;
