//! Rows of table `perf_counts`: the fewest between which straight lines hold.

/// A row; the host is the file's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row<'a> {
    /// Time of the reading.
    pub t_mono_ns: i64,
    /// `thread`, `node/<n>`, `package/<n>`, `host` or a device.
    pub scope: &'a str,
    /// Process and thread.
    pub thread: Option<(i32, i32)>,
    /// Name: docs/reference/counters.md.
    pub event: &'a str,
    /// What was read.
    pub count: Count,
}

/// A counter as read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// Count since it was opened, not scaled up.
    pub value: i64,
    /// Time it was meant to count.
    pub enabled_ns: i64,
    /// Time it counted.
    pub running_ns: i64,
}

/// Receives rows.
pub type Emit<'a> = dyn FnMut(Row) + 'a;

/// The last reading of one counter.
#[derive(Debug, Default)]
pub struct Kept {
    count: Count,
    seen_ns: i64,
    written_ns: Option<i64>,
}

impl Kept {
    /// Takes a reading: the first and every changed one becomes a row, after the last of those
    /// before that were equal.
    pub fn take(&mut self, t_mono_ns: i64, count: Count, emit: &mut dyn FnMut(i64, Count)) {
        if self.written_ns.is_none() || count.value != self.count.value {
            self.end(emit);
            emit(t_mono_ns, count);
            self.written_ns = Some(t_mono_ns);
        }
        (self.count, self.seen_ns) = (count, t_mono_ns);
    }

    /// The last reading becomes a row if it is none yet.
    pub fn end(&mut self, emit: &mut dyn FnMut(i64, Count)) {
        if self
            .written_ns
            .is_some_and(|written| written != self.seen_ns)
        {
            emit(self.seen_ns, self.count);
            self.written_ns = Some(self.seen_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_that_stands_still_is_two_rows() {
        let (mut kept, mut rows) = (Kept::default(), Vec::new());
        let mut note = |t: i64, count: Count| rows.push((t, count.value));
        for (t, value) in [(1, 5), (2, 5), (3, 5), (4, 9), (5, 9)] {
            kept.take(
                t,
                Count {
                    value,
                    ..Count::default()
                },
                &mut note,
            );
        }
        kept.end(&mut note);
        kept.end(&mut note);
        assert_eq!(rows, [(1, 5), (3, 5), (4, 9), (5, 9)]);
    }
}
