//! Bindings of profiles of other tools in binary and JSON formats.

use pyo3::prelude::*;

use crate::report::report;

/// Reads a pprof profile into the tables of `out`.
#[pyfunction]
pub fn import_pprof(py: Python<'_>, path: &str, out: &str) -> PyResult<String> {
    report(py, |_| pyro_ingest::imported::import_pprof(path, out))
}

/// Reads a speedscope file into the tables of `out`.
#[pyfunction]
pub fn import_speedscope(py: Python<'_>, path: &str, out: &str) -> PyResult<String> {
    report(py, |_| pyro_ingest::imported::import_speedscope(path, out))
}
