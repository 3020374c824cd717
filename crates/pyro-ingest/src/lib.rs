//! See the crate's description.
pub mod gclog;
