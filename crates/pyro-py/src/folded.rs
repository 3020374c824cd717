//! Bindings of profiles of other tools and of exports.

use pyo3::prelude::*;
use pyro_ingest::folded::{self, FoldedOptions};

use crate::report::report;

/// Reads collapsed stacks into the tables of `out`.
#[pyfunction]
#[pyo3(signature = (path, out, host=None, event="cpu", unit="samples"))]
pub fn import_folded(
    py: Python<'_>,
    path: &str,
    out: &str,
    host: Option<&str>,
    event: &str,
    unit: &str,
) -> PyResult<String> {
    report(py, |go_on| {
        folded::import_folded(path, out, &FoldedOptions { host, event, unit }, go_on)
    })
}

/// Reads the text of `perf script` into the tables of `out`.
#[pyfunction]
#[pyo3(signature = (path, out, host=None))]
pub fn import_perf_script(
    py: Python<'_>,
    path: &str,
    out: &str,
    host: Option<&str>,
) -> PyResult<String> {
    report(py, |go_on| {
        folded::import_perf_script(path, out, host, go_on)
    })
}

/// Writes a folder of tables, collapsed stacks or the text of `perf script` as folded text.
#[pyfunction]
#[pyo3(signature = (source, out, options="{}"))]
pub fn fold(py: Python<'_>, source: &str, out: &str, options: &str) -> PyResult<String> {
    report(py, |go_on| folded::fold(source, out, options, go_on))
}

/// Draws the same as a flame graph in one SVG file.
#[pyfunction]
#[pyo3(signature = (source, out, options="{}"))]
pub fn render_svg(py: Python<'_>, source: &str, out: &str, options: &str) -> PyResult<String> {
    report(py, |go_on| folded::render_svg(source, out, options, go_on))
}
