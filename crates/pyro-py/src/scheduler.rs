//! The scheduler of plans.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::report::unpanicked;

/// A plan that is read once and scheduled many times, each time with other times.
#[pyclass(frozen, module = "pyrometer._core")]
pub struct Scheduler(pyro_sim::Scheduler);

#[pymethods]
impl Scheduler {
    /// Reads a plan (JSON); what its tasks are is columns of little-endian numbers.
    #[new]
    fn new(
        py: Python<'_>,
        plan: &str,
        level: &[u8],
        wasted: &[u8],
        retry_of: &[u8],
    ) -> PyResult<Self> {
        let tasks = pyro_sim::TaskKinds {
            level,
            wasted,
            retry_of,
        };
        py.detach(|| unpanicked(|| pyro_sim::Scheduler::new(plan, tasks)))?
            .map(Self)
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Computes the schedules of a request (JSON); times are columns of little-endian `f64`.
    fn simulate(
        &self,
        py: Python<'_>,
        request: &str,
        node_delay_ns: &[u8],
        duration_ns: &[u8],
        delay_ns: &[u8],
        stretches: &[u8],
    ) -> PyResult<String> {
        let times = pyro_sim::Times {
            node_delay_ns,
            duration_ns,
            delay_ns,
            stretches,
        };
        py.detach(|| unpanicked(|| self.0.simulate(request, &times)))?
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }
}
