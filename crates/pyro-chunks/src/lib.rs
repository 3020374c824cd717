//! Chunks: pieces of raw streams that are complete in themselves, and files made of them again.
//!
//! What a chunk is, and what becomes of one that is missing: `docs/reference/hosts/chunks.md`. Nothing here
//! knows a store or a network.
#![forbid(unsafe_code)]

mod format;
mod header;
pub mod join;
mod key;
mod messages;
pub mod testing;
mod units;

pub use format::{Chunk, Fault, MAX_OBJECT_BYTES, MAX_PAYLOAD_BYTES, decode, encode};
pub use header::{Header, Kind, Source};
pub use key::{chunk_key, part, sequence_of, stream_key};
pub use units::{At, Cut, cut, kind_of};

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    #[test]
    #[should_panic(expected = "overflow")]
    fn a_number_that_wraps_is_an_error_in_every_profile() {
        black_box(black_box(i64::MAX) + 1);
    }
}
