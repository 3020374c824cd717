//! From a result of the native core to Python.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyro_model::{Error, IngestReport};

/// Runs `work` without the interpreter's lock and gives its report as JSON.
///
/// `work` may ask now and then whether to go on: no, once a signal handler has raised.
pub fn report<F>(py: Python<'_>, work: F) -> PyResult<String>
where
    F: FnOnce(&mut dyn FnMut() -> bool) -> pyro_model::Result<IngestReport> + Send,
{
    let (result, raised) = py.detach(|| {
        let mut raised = None;
        let mut go_on = || {
            raised = Python::attach(|py| py.check_signals()).err();
            raised.is_none()
        };
        let result = unpanicked(|| work(&mut go_on));
        (result, raised)
    });
    match (result, raised) {
        (_, Some(raised)) => Err(raised),
        (Ok(Ok(report)), None) => Ok(report.to_json()),
        (Ok(Err(error)), None) => Err(python_error(error)),
        (Err(error), None) => Err(error),
    }
}

/// Runs `work`; a panic is an ordinary exception, which nobody who catches exceptions lets through.
///
/// # Errors
/// `RuntimeError` with the panic's message.
pub fn unpanicked<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let message = panic
            .downcast_ref::<&str>()
            .map(ToString::to_string)
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no message".to_owned());
        PyRuntimeError::new_err(format!("the native core failed: {message}"))
    })
}

/// The Python exception for an error of the core.
pub fn python_error(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Io { path, source } => match source.raw_os_error() {
            Some(code) => {
                // Python adds the number itself.
                let reason = source.to_string();
                let reason = reason.split(" (os error").next().unwrap_or_default();
                PyOSError::new_err((code, reason.to_owned(), path.display().to_string()))
            }
            None => PyOSError::new_err(text),
        },
        Error::Input(_) => PyValueError::new_err(text),
        Error::Table(_) | Error::Interrupted => PyRuntimeError::new_err(text),
    }
}
