//! Profiles of other tools: text of collapsed stacks and of `perf script` → tables `samples`,
//! `stacks` and `frames`; and back, from tables to folded text and static flame graphs.

mod export;
mod from_tables;
mod import;
mod source;

pub use export::{FoldOptions, Format, fold, render_svg};
pub use import::{FoldedOptions, import_folded, import_perf_script};
