//! Where rows go.

use pyro_model::{JitBuilder, ParquetSink};

use super::lookup::Lookup;
use super::samples::SampleSink;
use crate::dictionary::Dictionary;

/// Tables and dictionaries shared by all recordings.
pub struct Output {
    /// Table samples.
    pub samples: SampleSink,
    /// Table jit.
    pub jit: ParquetSink<JitBuilder>,
    /// Tables frames and stacks.
    pub dictionary: Dictionary,
    /// What was looked up in constant pools.
    pub lookup: Lookup,
}
