//! What a reader of plugin files passes on.

use std::collections::BTreeMap;

use pyro_model::{Result, TaskSpan};

use super::process::{Identity, Process};
use super::record::Pod;

/// How a task ended, and what it took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// `None` while it runs, or where the end was never seen.
    pub success: Option<bool>,
    /// CPU time.
    pub cpu_ns: Option<i64>,
    /// Bytes that it allocated.
    pub allocated_bytes: Option<i64>,
}

/// What a reader of plugin files wants of them. Each method takes one row.
pub trait Consumer {
    /// A task.
    fn span(&mut self, _span: TaskSpan, _outcome: Outcome) -> Result<()> {
        Ok(())
    }
    /// A reading of both clocks.
    fn clock(&mut self, _process: &Identity, _mono_ns: i64, _wall_ns: i64) -> Result<()> {
        Ok(())
    }
    /// Values of series at a time.
    fn series(
        &mut self,
        _process: &Identity,
        _mono_ns: i64,
        _values: &BTreeMap<String, i64>,
    ) -> Result<()> {
        Ok(())
    }
    /// A process, once all is known of it.
    fn process(&mut self, _process: &Process) -> Result<()> {
        Ok(())
    }
    /// A pod, once all is known of it.
    fn pod(&mut self, _pod: Pod) -> Result<()> {
        Ok(())
    }
}
