//! Profiles of other tools → tables `samples`, `stacks`, `frames`.
//!
//! What a format does not contain (host, times, tasks) is null. Values keep their unit; units of
//! time become nanoseconds. JFR recordings are read by [`crate::jfr`].

mod file;
mod names;
mod pprof;
mod speedscope;

pub use pprof::import_pprof;
pub use speedscope::import_speedscope;

#[cfg(test)]
mod tests;
