//! Chunks to files again.

mod folder;
mod messages;
mod stream;
mod tally;

pub use folder::{Joined, JoinedStream, join_folder};
pub use stream::{Joiner, Taken};
pub use tally::Tally;
