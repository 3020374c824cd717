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

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    #[test]
    #[should_panic(expected = "overflow")]
    fn a_number_that_wraps_is_an_error_in_every_profile() {
        black_box(black_box(i64::MAX) + 1);
    }
}
