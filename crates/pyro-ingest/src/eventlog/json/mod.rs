//! An on-demand reader of one line of JSON.
//!
//! Nothing is built that is not asked for. What is asked for is checked in full. What is
//! skipped is checked for its shape alone: strings must end, brackets must balance, scalars
//! must end in a delimiter. Control characters inside strings, the order of `,` and `:` inside
//! a skipped container, and `{` closed by `]` there are not looked for: that would cost a
//! multiple and no table is filled from such bytes.

mod cursor;
mod malformed;
mod numbers;
mod padding;
mod scan;
mod text;

pub use cursor::Cursor;
pub use malformed::{Malformed, Read};
pub use numbers::parse_integer;
pub use padding::{PAD, padded};
pub use text::Text;

#[cfg(test)]
mod tests;
