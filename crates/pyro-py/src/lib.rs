//! Python bindings: thin wrappers around `pyro-ingest` and `pyro-sim`.
use std::borrow::Cow;
use std::path::PathBuf;

use pyo3::prelude::*;

mod folded;
mod imported;
mod report;
mod scheduler;

use report::{python_error, report, unpanicked};

/// The extension module `pyrometer._core`.
#[pymodule]
mod _core {
    use super::*;

    #[pymodule_export]
    use super::imported::{import_pprof, import_speedscope};

    #[pymodule_export]
    use super::scheduler::{KnownSchedule, Scheduler};

    #[pymodule_export]
    use super::folded::{fold, import_folded, import_perf_script, render_svg};

    /// Version of the native core; compared with the Python package at start.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    /// Panics, as a mistake of ours would: tests look at what becomes of it.
    #[pyfunction]
    fn panic_for_tests(py: Python<'_>) -> PyResult<String> {
        report(py, |_| panic!("asked for by a test"))
    }

    /// Reads Spark event logs (files, rolling folders, folders of logs) into the tables of `out`.
    #[pyfunction]
    fn ingest_eventlogs(py: Python<'_>, paths: Vec<PathBuf>, out: PathBuf) -> PyResult<String> {
        report(py, |go_on| {
            pyro_ingest::eventlog::ingest(&paths, &out, go_on)
        })
    }

    /// Reads GC and safepoint logs into the tables of `out`; `hosts` are those of the files.
    #[pyfunction]
    #[pyo3(signature = (paths, out, hosts=None))]
    fn ingest_gc(
        py: Python<'_>,
        paths: Vec<String>,
        out: &str,
        hosts: Option<Vec<Option<String>>>,
    ) -> PyResult<String> {
        let hosts = hosts.unwrap_or_default();
        report(py, |_| pyro_ingest::gclog::ingest_gc(&paths, &hosts, out))
    }

    /// Reads JIT logs into the tables of `out`; `hosts` are those of the files.
    #[pyfunction]
    #[pyo3(signature = (paths, out, hosts=None))]
    fn ingest_jit(
        py: Python<'_>,
        paths: Vec<String>,
        out: &str,
        hosts: Option<Vec<Option<String>>>,
    ) -> PyResult<String> {
        let hosts = hosts.unwrap_or_default();
        report(py, |_| pyro_ingest::jitlog::ingest_jit(&paths, &hosts, out))
    }

    /// Reads the plugin's records into the tables of `out`.
    #[pyfunction]
    fn ingest_plugin(py: Python<'_>, paths: Vec<String>, out: &str) -> PyResult<String> {
        report(py, |_| pyro_ingest::plugin::ingest_plugin(&paths, out))
    }

    /// Reads sources of generated classes into the tables of `out`; `hosts` are those of the files.
    #[pyfunction]
    #[pyo3(signature = (paths, out, hosts=None))]
    fn ingest_codegen(
        py: Python<'_>,
        paths: Vec<String>,
        out: &str,
        hosts: Option<Vec<Option<String>>>,
    ) -> PyResult<String> {
        let hosts = hosts.unwrap_or_default();
        report(py, |_| {
            pyro_ingest::codegen::ingest_codegen(&paths, &hosts, out)
        })
    }

    /// Reads JFR recordings into the tables of `out`; tasks come from the plugin's records.
    /// `begun_in` is the recording that these are later chunks of: its first chunk has settings.
    /// `hosts` are those of the recordings; one that is not known is of `host`.
    #[pyfunction]
    #[pyo3(signature = (paths, plugin_paths, out, host, begun_in=None, hosts=None))]
    fn ingest_jfr(
        py: Python<'_>,
        paths: Vec<String>,
        plugin_paths: Vec<String>,
        out: &str,
        host: &str,
        begun_in: Option<&str>,
        hosts: Option<Vec<Option<String>>>,
    ) -> PyResult<String> {
        let hosts = hosts.unwrap_or_default();
        report(py, |_| {
            pyro_ingest::jfr::ingest_jfr(&paths, &plugin_paths, out, host, &hosts, begun_in)
        })
    }

    /// Gives distinct moments off the CPU (a Parquet file) their wait classes (lines of `out`).
    #[pyfunction]
    fn classify_waits(py: Python<'_>, moments: &str, out: &str) -> PyResult<String> {
        report(py, |_| {
            pyro_ingest::wait_classes::classify_waits(moments, out)
        })
    }

    /// Strikes secrets out of a text.
    #[pyfunction]
    fn redact(text: &[u8]) -> PyResult<Cow<'_, [u8]>> {
        unpanicked(|| pyro_model::redactor().bytes(text))
    }

    /// Teaches what else is secret: a pattern of names, one of texts; says whether both are known.
    #[pyfunction]
    fn learn_secrets(names: Option<&str>, texts: Option<&str>) -> PyResult<bool> {
        unpanicked(|| pyro_model::learn(names, texts))
    }

    /// Strikes secrets out of files of text; returns those that had any.
    #[pyfunction]
    fn redact_files(py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<Vec<PathBuf>> {
        py.detach(|| unpanicked(|| pyro_ingest::redact_files::redact_files(&paths)))?
            .map_err(python_error)
    }

    /// Makes files in `out` of the chunks below `store`.
    #[pyfunction]
    fn join_chunks(py: Python<'_>, store: PathBuf, out: PathBuf) -> PyResult<String> {
        report(py, |_| pyro_ingest::chunks::join_chunks(&store, &out))
    }

    /// Reads the probe's Arrow streams into the tables of `out`.
    #[pyfunction]
    fn ingest_probe(py: Python<'_>, paths: Vec<String>, out: &str) -> PyResult<String> {
        report(py, |_| pyro_ingest::probe::ingest_probe(&paths, out))
    }
}
