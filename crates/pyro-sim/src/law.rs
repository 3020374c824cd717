//! How much slower tasks run the more of them run beside one another.

use serde::Deserialize;

use crate::error::{Error, Result};

/// Slow-down at load 0, 1, 2, … of a host; linear between, and on from the last two.
///
/// With tasks of load 1 the load is the number of running tasks. A law that is 1 everywhere says
/// that nothing is fought over.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Law {
    slowdowns: Vec<f64>,
}

impl Law {
    /// A law of its values at 0, 1, 2, …
    ///
    /// # Errors
    /// If there are fewer than two, or one is not above zero.
    pub fn new(slowdowns: Vec<f64>) -> Result<Self> {
        let law = Self { slowdowns };
        law.check()?;
        Ok(law)
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.slowdowns.len() < 2 {
            return Err(Error::new("law: fewer than two values"));
        }
        match self
            .slowdowns
            .iter()
            .find(|&&s| !(s.is_finite() && s > 0.0))
        {
            Some(value) => Err(Error::new(format!("law: {value} is not above zero"))),
            None => Ok(()),
        }
    }

    /// Slow-down at a load.
    #[must_use]
    pub fn at(&self, load: f64) -> f64 {
        let last = self.slowdowns.len() - 2;
        let below = (load.max(0.0) as usize).min(last);
        let (low, high) = (self.slowdowns[below], self.slowdowns[below + 1]);
        // Beyond its end a law that falls would reach zero: it stays at its last value.
        let slope = if load > (last + 1) as f64 {
            (high - low).max(0.0)
        } else {
            high - low
        };
        let from = if load > (last + 1) as f64 {
            (last + 1, high)
        } else {
            (below, low)
        };
        from.1 + slope * (load.max(0.0) - from.0 as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::Law;

    #[test]
    fn a_law_is_linear_between_its_values_and_beyond_them() {
        let law = Law::new(vec![1.0, 1.0, 2.0]).unwrap();
        assert_eq!(
            [0.0, 1.0, 1.5, 2.0, 4.0].map(|load| law.at(load)),
            [1.0, 1.0, 1.5, 2.0, 4.0]
        );
    }

    #[test]
    fn a_law_that_falls_stays_at_its_last_value() {
        let law = Law::new(vec![1.0, 0.9]).unwrap();
        assert_eq!(law.at(100.0), 0.9);
    }

    #[test]
    fn what_is_not_above_zero_is_no_slow_down() {
        assert!(Law::new(vec![1.0, 0.0]).is_err());
        assert!(Law::new(vec![1.0]).is_err());
    }
}
