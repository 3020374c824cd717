//! See the crate's description.
pub mod chunks;
pub mod codegen;
mod dictionary;
pub mod eventlog;
pub mod folded;
pub mod gclog;
pub mod imported;
pub mod jfr;
pub mod jitlog;
mod jobs;
pub mod plugin;
pub mod probe;
mod profile_tables;
mod read_table;
pub mod redact_files;
mod sample_rows;
mod unified_log;
pub mod wait_classes;
