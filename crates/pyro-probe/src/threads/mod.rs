//! The threads of one process: their counters, and what each pass saw them doing.

mod cpu_time;
mod files;
mod from_files;
mod from_records;
mod table;
mod thread;

pub use table::{Source, Threads};
