//! Folded stacks: each distinct stack once, with the sum of its weights.
//!
//! [`collapsed`] and [`perf_script`] read text, [`Folded`] sums, [`Folded::write`] writes the
//! one-line-a-stack text that flame graph tools take (`root;caller;leaf 12`). Readers take
//! anything that can be read, writers anything that can be written; neither knows of files.
//! Memory grows with the distinct stacks and names, not with the input.

mod arena;
pub mod collapsed;
mod interner;
mod lines;
mod name;
pub mod perf_script;
mod stacks;

pub use arena::{Names, SequenceHash, Sequences};
pub use lines::{Lines, Problem};
pub use name::{FrameName, NameStyle, clean, frame_of, write_name};
pub use stacks::{Folded, Sorted};
