//! The agent of a host: finds executors, records them, and ships what was recorded.
#![forbid(unsafe_code)]

pub mod args;
pub mod canary;
pub mod executors;
#[cfg(feature = "objects")]
mod objects;
mod own_use;
pub mod said;
pub mod ship;
mod stop;
mod stores;
mod umask;
pub mod verbs;
