//! Series as they are kept: a row when a value changed, and the reading before the change.

use rustc_hash::FxHashMap;

/// A row of table `os_series`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Time of the reading.
    pub t_mono_ns: i64,
    /// Index of the scope in [`Recorder::scopes`].
    pub scope: usize,
    /// Series name.
    pub name: &'static str,
    /// Value as read.
    pub value: i64,
}

#[derive(Debug)]
struct Last {
    value: i64,
    seen_ns: i64,
    written_ns: i64,
}

/// Turns readings into the fewest rows between which straight lines hold.
#[derive(Debug, Default)]
pub struct Recorder {
    /// Names of scopes, by index.
    pub scopes: Vec<String>,
    indices: FxHashMap<String, usize>,
    last: FxHashMap<(usize, &'static str), Last>,
    /// Rows to be written.
    pub rows: Vec<Row>,
}

impl Recorder {
    /// Index of a scope, new or known.
    pub fn scope(&mut self, name: &str) -> usize {
        if let Some(&known) = self.indices.get(name) {
            return known;
        }
        self.scopes.push(name.to_owned());
        self.indices.insert(name.to_owned(), self.scopes.len() - 1);
        self.scopes.len() - 1
    }

    /// Takes a reading.
    pub fn record(&mut self, t_mono_ns: i64, scope: usize, name: &'static str, value: i64) {
        let row = Row {
            t_mono_ns,
            scope,
            name,
            value,
        };
        let Some(last) = self.last.get_mut(&(scope, name)) else {
            self.last.insert(
                (scope, name),
                Last {
                    value,
                    seen_ns: t_mono_ns,
                    written_ns: t_mono_ns,
                },
            );
            return self.rows.push(row);
        };
        if last.value != value {
            if last.seen_ns != last.written_ns {
                self.rows.push(Row {
                    t_mono_ns: last.seen_ns,
                    value: last.value,
                    ..row.clone()
                });
            }
            (last.value, last.written_ns) = (value, t_mono_ns);
            self.rows.push(row);
        }
        last.seen_ns = t_mono_ns;
    }

    /// Ends the series of a scope (or of all): their last readings become rows.
    pub fn end(&mut self, scope: Option<usize>) {
        let rows = &mut self.rows;
        self.last.retain(|&(of, name), last| {
            let ends = scope.is_none_or(|scope| scope == of);
            if ends && last.seen_ns != last.written_ns {
                rows.push(Row {
                    t_mono_ns: last.seen_ns,
                    scope: of,
                    name,
                    value: last.value,
                });
            }
            !ends
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(readings: &[(i64, i64)], t: i64) -> f64 {
        let after = readings.iter().position(|&(time, _)| time >= t).unwrap();
        let (t1, v1) = readings[after];
        if t1 == t {
            return v1 as f64;
        }
        let (t0, v0) = readings[after - 1];
        v0 as f64 + (v1 - v0) as f64 * (t - t0) as f64 / (t1 - t0) as f64
    }

    proptest! {
        #[test]
        fn straight_lines_between_rows_pass_through_every_reading(values in prop::collection::vec(0_i64..3, 1..50)) {
            let mut recorder = Recorder::default();
            let scope = recorder.scope("host");
            let readings: Vec<(i64, i64)> = values.iter().enumerate().map(|(i, &v)| (10 * i as i64, v)).collect();
            for &(t, value) in &readings {
                recorder.record(t, scope, "x", value);
            }
            recorder.end(None);
            let rows: Vec<(i64, i64)> = recorder.rows.iter().map(|row| (row.t_mono_ns, row.value)).collect();
            prop_assert!(rows.is_sorted_by_key(|row| row.0) && rows.len() <= readings.len());
            for &(t, value) in &readings {
                prop_assert_eq!(at(&rows, t), value as f64);
            }
        }
    }

    #[test]
    fn a_value_that_stays_is_two_rows() {
        let mut recorder = Recorder::default();
        let (host, process) = (recorder.scope("host"), recorder.scope("process/1"));
        assert_eq!(recorder.scope("host"), host);
        for t in 0..100 {
            recorder.record(t, host, "x", 5);
            recorder.record(t, process, "x", 6);
        }
        recorder.end(Some(process));
        recorder.end(None);
        let rows: Vec<_> = recorder
            .rows
            .iter()
            .map(|row| (row.scope, row.t_mono_ns))
            .collect();
        assert_eq!(
            rows,
            vec![(host, 0), (process, 0), (process, 99), (host, 99)]
        );
    }
}
