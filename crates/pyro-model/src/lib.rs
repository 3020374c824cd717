//! Arrow schemas and typed builders of every Pyrometer table, and what the
//! ingest crates share: a bounded Parquet sink, task spans, doubts, reports.
//!
//! Tables are declared once, in `schema/tables.toml`; `tools/generate_schema.py`
//! turns them into the builders below.

pub mod column;
mod cores;
#[cfg(feature = "parquet")]
mod encoder;
mod error;
#[cfg(feature = "parquet")]
mod redaction;
mod report;
#[cfg(feature = "parquet")]
mod sink;
mod span;
pub mod table;
#[rustfmt::skip]
mod tables;

pub use cores::cores;
pub use error::{Error, Result};
#[cfg(feature = "parquet")]
pub use redaction::{Redactor, learn, redactor};
pub use report::{Doubt, IngestReport, Severity};
#[cfg(feature = "parquet")]
pub use sink::ParquetSink;
pub use span::TaskSpan;
pub use table::Table;
pub use tables::*;
