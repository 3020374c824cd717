//! What the program does, one verb a file.

mod detach;
mod executors;
mod host;
mod next;
mod recorder;
mod reporter;
mod restarts;
mod rests;
mod session;
mod ship;
pub mod writer;

pub use executors::executors;
pub use host::host;
pub use ship::ship;
