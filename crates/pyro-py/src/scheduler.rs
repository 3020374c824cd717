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
            .map_err(refused)
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
        let times = times(node_delay_ns, duration_ns, delay_ns, stretches);
        py.detach(|| unpanicked(|| self.0.simulate(request, &times)))?
            .map_err(refused)
    }

    /// Makes the schedule of a request's first scenario, for others to be made from it.
    fn known(
        slf: Bound<'_, Self>,
        request: &str,
        node_delay_ns: &[u8],
        duration_ns: &[u8],
        delay_ns: &[u8],
    ) -> PyResult<KnownSchedule> {
        let times = times(node_delay_ns, duration_ns, delay_ns, &[]);
        let scheduler = &slf.get().0;
        let known = slf
            .py()
            .detach(|| unpanicked(|| scheduler.known(request, &times)))?
            .map_err(refused)?;
        Ok(KnownSchedule {
            scheduler: slf.unbind(),
            known,
        })
    }
}

/// A schedule that others, which differ from it in little, are made from.
#[pyclass(frozen, module = "pyrometer._core")]
pub struct KnownSchedule {
    scheduler: Py<Scheduler>,
    known: pyro_sim::KnownSchedule,
}

#[pymethods]
impl KnownSchedule {
    /// Computes the elapsed times of a request's scenarios, as `Scheduler.simulate` does.
    fn elapsed_ns(
        &self,
        py: Python<'_>,
        request: &str,
        node_delay_ns: &[u8],
        duration_ns: &[u8],
        delay_ns: &[u8],
        stretches: &[u8],
    ) -> PyResult<Vec<f64>> {
        let times = times(node_delay_ns, duration_ns, delay_ns, stretches);
        let scheduler = &self.scheduler.get().0;
        py.detach(|| unpanicked(|| scheduler.elapsed_ns(request, &times, &self.known)))?
            .map_err(refused)
    }
}

fn times<'a>(
    node_delay_ns: &'a [u8],
    duration_ns: &'a [u8],
    delay_ns: &'a [u8],
    stretches: &'a [u8],
) -> pyro_sim::Times<'a> {
    pyro_sim::Times {
        node_delay_ns,
        duration_ns,
        delay_ns,
        stretches,
    }
}

fn refused(error: pyro_sim::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}
