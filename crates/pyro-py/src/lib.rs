//! Python bindings: thin wrappers around `pyro-ingest`.
use pyo3::prelude::*;

/// The extension module `pyrometer._core`.
#[pymodule]
mod _core {
    use super::*;

    /// Version of the native core; compared with the Python package at start.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}
