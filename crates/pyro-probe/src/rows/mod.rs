//! From readings to rows of the streams.

mod appender;
pub mod states;

pub use appender::Rows;
