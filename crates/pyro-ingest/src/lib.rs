//! See the crate's description.
pub mod codegen;
pub mod eventlog;
pub mod gclog;
pub mod jfr;
pub mod jitlog;
mod jobs;
pub mod plugin;
pub mod probe;
