//! Which task a thread was running at a given time.

use std::collections::HashMap;

use pyro_model::TaskSpan;

/// Task spans by process and thread, in order of their starts.
#[derive(Debug, Default)]
pub struct SpanIndex {
    threads: HashMap<(i64, i64), Vec<TaskSpan>>,
    clocks: HashMap<i64, Vec<(i64, i64)>>,
}

impl SpanIndex {
    /// Sorts spans, and `(pid, mono_ns, wall_ns)` readings of both clocks.
    pub fn new(spans: Vec<TaskSpan>, clocks: Vec<(i64, i64, i64)>) -> Self {
        let mut index = Self::default();
        for span in spans {
            index
                .threads
                .entry((span.pid, span.tid))
                .or_default()
                .push(span);
        }
        index
            .threads
            .values_mut()
            .for_each(|spans| spans.sort_by_key(|span| span.start_mono_ns));
        for (pid, mono_ns, wall_ns) in clocks {
            index
                .clocks
                .entry(pid)
                .or_default()
                .push((wall_ns, mono_ns));
        }
        index
            .clocks
            .values_mut()
            .for_each(|pairs| pairs.sort_unstable());
        index
    }

    /// The same of the spans, and `(host, pid, mono_ns, wall_ns)` readings, of one host.
    pub fn of_host(host: &str, spans: &[TaskSpan], clocks: &[(String, i64, i64, i64)]) -> Self {
        let spans = spans.iter().filter(|span| span.host == host);
        let clocks = clocks.iter().filter(|(of, ..)| of == host);
        Self::new(
            spans.cloned().collect(),
            clocks
                .map(|(_, pid, mono, wall)| (*pid, *mono, *wall))
                .collect(),
        )
    }

    /// Whether anything is known of the process.
    pub fn knows(&self, pid: i64) -> bool {
        self.clocks.contains_key(&pid) || self.threads.keys().any(|(known, _)| *known == pid)
    }

    /// Spans of a thread, in order.
    pub fn of_thread(&self, pid: i64, tid: i64) -> &[TaskSpan] {
        self.threads.get(&(pid, tid)).map_or(&[], Vec::as_slice)
    }

    /// CLOCK_MONOTONIC of a process's host at a wall time, by the nearest reading of both.
    pub fn mono_ns(&self, pid: i64, wall_ns: i64) -> Option<i64> {
        let pairs = self.clocks.get(&pid)?;
        let at = pairs.partition_point(|(wall, _)| *wall < wall_ns);
        let around = pairs[at.saturating_sub(1)..].iter().take(2);
        let (wall, mono) = around.min_by_key(|(wall, _)| wall.abs_diff(wall_ns))?;
        mono.checked_add(wall_ns.checked_sub(*wall)?)
    }
}

/// The span among a thread's that covers a time.
pub fn covering(spans: &[TaskSpan], mono_ns: i64) -> Option<&TaskSpan> {
    let after = spans.partition_point(|span| span.start_mono_ns <= mono_ns);
    spans[..after].last().filter(|span| span.covers(mono_ns))
}

/// A run of samples of a batch that fell into the same task, or outside any.
#[derive(Debug, PartialEq)]
pub struct Piece<'a> {
    /// Time of its first sample.
    pub start_ns: i64,
    /// Samples.
    pub count: u64,
    /// The task.
    pub span: Option<&'a TaskSpan>,
}

/// Samples of a batch that are looked at one by one; async-profiler writes 1000 at most.
const MAX_BATCH: u64 = 1 << 20;

/// Splits a batch of `count` samples taken at equal distances between `start_ns` and
/// `start_ns + span_ns` at the boundaries of tasks. Every sample goes to the task that ran when
/// it was taken; `join` gives the monotonic time of a sample's own time.
pub fn split_batch<'a>(
    spans: &'a [TaskSpan],
    start_ns: i64,
    span_ns: i64,
    count: u64,
    join: impl Fn(i64) -> Option<i64>,
) -> impl Iterator<Item = Piece<'a>> {
    let time = move |number: u64| {
        if number == 0 {
            return start_ns;
        }
        let steps = i128::from(count.max(2) - 1);
        start_ns.saturating_add((i128::from(span_ns) * i128::from(number) / steps) as i64)
    };
    let task = move |number: u64| join(time(number)).and_then(|mono_ns| covering(spans, mono_ns));
    let whole = spans.is_empty() || count <= 1 || count > MAX_BATCH;
    let (mut first, end) = (0, count.max(1));
    // The task of the sample that did not belong to the piece before.
    let mut next = None;
    std::iter::from_fn(move || {
        if first == end {
            return None;
        }
        let start_ns = time(first);
        let span = next.take().unwrap_or_else(|| task(first));
        let mut after = if whole { end } else { first + 1 };
        while after < end {
            let other = task(after);
            if !same(span, other) {
                next = Some(other);
                break;
            }
            after += 1;
        }
        let count = after - std::mem::replace(&mut first, after);
        Some(Piece {
            start_ns,
            count,
            span,
        })
    })
}

fn same(a: Option<&TaskSpan>, b: Option<&TaskSpan>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => std::ptr::eq(a, b),
        (None, None) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(task: i64, start: i64, end: Option<i64>) -> TaskSpan {
        TaskSpan {
            pid: 1,
            tid: 2,
            task_attempt_id: task,
            start_mono_ns: start,
            end_mono_ns: end,
            ..TaskSpan::default()
        }
    }

    #[test]
    fn a_sample_belongs_to_the_span_around_it() {
        let index = SpanIndex::new(
            vec![
                span(1, 200, Some(300)),
                span(0, 0, Some(100)),
                span(2, 400, None),
            ],
            vec![],
        );
        let spans = index.of_thread(1, 2);
        let task = |t| covering(spans, t).map(|span| span.task_attempt_id);
        assert_eq!(
            [
                task(-1),
                task(0),
                task(100),
                task(101),
                task(250),
                task(350)
            ],
            [None, Some(0), Some(0), None, Some(1), None]
        );
        assert_eq!(task(1_000_000), Some(2));
        assert!(index.of_thread(1, 3).is_empty());
    }

    #[test]
    fn one_thread_number_on_two_hosts_is_two_threads() {
        let on = |host: &str, task| TaskSpan {
            host: host.to_owned(),
            ..span(task, 0, Some(100))
        };
        let spans = [on("one", 1), on("two", 2)];
        let clocks = ["one", "two"].map(|host| (host.to_owned(), 1, 5, host.len() as i64));
        let index = SpanIndex::of_host("two", &spans, &clocks);
        let tasks: Vec<_> = index
            .of_thread(1, 2)
            .iter()
            .map(|s| s.task_attempt_id)
            .collect();
        assert_eq!(tasks, [2]);
        assert_eq!(index.clocks[&1].len(), 1);
        assert!(!SpanIndex::of_host("three", &spans, &clocks).knows(1));
    }

    #[test]
    fn batches_are_split_where_tasks_change() {
        let spans = [span(0, 0, Some(100)), span(1, 200, Some(300))];
        let pieces = split_batch(&spans, 50, 200, 5, Some); // samples at 50, 100, 150, 200, 250
        let short: Vec<_> = pieces
            .map(|p| (p.start_ns, p.count, p.span.map(|s| s.task_attempt_id)))
            .collect();
        assert_eq!(short, [(50, 2, Some(0)), (150, 1, None), (200, 2, Some(1))]);
        let pieces = split_batch(&spans, 50, 0, 1, Some);
        assert_eq!(pieces.count(), 1);
        let pieces = split_batch(&[], 50, 200, 5, Some);
        assert_eq!(
            pieces.collect::<Vec<_>>(),
            [Piece {
                start_ns: 50,
                count: 5,
                span: None
            }]
        );
    }

    #[test]
    fn wall_times_are_joined_by_the_nearest_pair() {
        let index = SpanIndex::new(vec![], vec![(7, 100, 1_000_100), (7, 200, 1_000_250)]);
        assert_eq!(index.mono_ns(7, 1_000_110), Some(110));
        assert_eq!(index.mono_ns(7, 1_000_240), Some(190));
        assert_eq!(index.mono_ns(7, 0), Some(100 - 1_000_100));
        assert_eq!(index.mono_ns(8, 0), None);
        assert!(index.knows(7) && !index.knows(8));
    }
}
