//! What the probe prints.

use serde::{Deserialize, Serialize};

/// Repetitions of one measure are no more.
const MAX_REPETITIONS: usize = 64;

/// One canary, with all repetitions: readers estimate, not we.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Time of a fixed piece of arithmetic.
    pub alu_ns: Vec<f64>,
    /// Time of one load that depends on the one before, from memory.
    pub latency_ns: Vec<f64>,
    /// Rate of copying, all threads together.
    pub copy_bytes_per_s: Vec<f64>,
}

impl Measured {
    /// Reads what was printed.
    ///
    /// # Errors
    /// Why it is no canary.
    pub fn parse(printed: &[u8]) -> Result<Self, String> {
        let found: Self = serde_json::from_slice(printed)
            .map_err(|error| format!("what it printed is no canary: {error}"))?;
        let measures = [
            ("alu_ns", &found.alu_ns),
            ("latency_ns", &found.latency_ns),
            ("copy_bytes_per_s", &found.copy_bytes_per_s),
        ];
        for (name, values) in measures {
            let is_sound = values.iter().all(|one| one.is_finite() && *one > 0.0);
            if !is_sound || !(1..=MAX_REPETITIONS).contains(&values.len()) {
                return Err(format!("what it printed is no canary: {name}"));
            }
        }
        Ok(found)
    }
}
