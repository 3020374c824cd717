//! Follows the files of a raw folder, and puts what was appended into a store, chunk by chunk.
//!
//! All decisions are in [`Progress`] (one file), [`Backoff`], [`admits`] and [`Shipper`], which know files, store,
//! clock and their own memory only as the traits of [`ports`]: tests give them ones that fail as planned.

mod apart;
mod backoff;
mod disk;
mod folder_store;
mod keep;
mod look;
mod ports;
mod progress;
mod puts;
mod relay_store;
mod report;
mod shipper;
mod spool;
mod state;
#[cfg(test)]
mod tests;

pub use apart::Apart;
pub use backoff::Backoff;
pub use disk::Disk;
pub use folder_store::FolderStore;
pub use keep::{KeptFile, LOCK, open_folder, replace};
pub use ports::{Clock, Files, Keep, Object, Seen, Store, SystemClock};
pub use progress::{MAX_PIECE_BYTES, Piece, Progress};
pub use relay_store::RelayStore;
pub use report::{Report, Round};
pub use shipper::{Options, Shipper};
pub use spool::admits;
pub use state::{MAX_FILES, State};
