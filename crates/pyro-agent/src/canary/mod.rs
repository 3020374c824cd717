//! Canaries of the host: what it attains while nobody needs it, as `pyro-probe canary` measures it.
//!
//! A host that is slow shows so before an executor begins there, and not by what a job does to it: a canary is
//! measured only while no executor and no driver is on the host, and broken off when one comes.

mod child;
mod lines;
mod measured;
mod presence;
#[cfg(test)]
mod tests;
mod watch;

pub use lines::Lines;
pub use measured::Measured;
pub use presence::Presence;
pub use watch::{Canary, GLANCE, LIMIT};
