//! See the crate's description.
fn main() {}
