//! What memory gives to readers: bandwidth by number of threads, and latency while others read.

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes that a thread reads at least.
const PART_BYTES: usize = 64 << 20;
/// Last-level cache where `/sys` does not show it.
const CACHE_BYTES: usize = 32 << 20;

/// Bytes that no last-level cache holds: twice its size, or `least` if that is more.
pub fn beyond_cache(least: usize) -> usize {
    let size = std::fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index3/size");
    (2 * size
        .ok()
        .as_deref()
        .and_then(cache_bytes)
        .unwrap_or(CACHE_BYTES))
    .max(least)
}

/// Parses the size of a cache: `266240K`.
fn cache_bytes(text: &str) -> Option<usize> {
    let text = text.trim();
    let (digits, unit) = text.split_at(
        text.find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len()),
    );
    let factor = match unit {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        _ => return None,
    };
    digits.parse::<usize>().ok()?.checked_mul(factor)
}

/// Numbers of threads to try: powers of two, and all.
pub fn thread_counts(all: usize) -> Vec<usize> {
    let mut counts: Vec<usize> = std::iter::successors(Some(1), |count| Some(count * 2))
        .take_while(|&count| count < all)
        .collect();
    counts.push(all);
    counts
}

/// Bytes per second that so many threads read together, repetition by repetition; each reads memory
/// that it wrote itself, on its own node where the kernel lets it stay there.
pub fn bandwidth(threads: usize, total_bytes: usize, repetitions: usize) -> Vec<f64> {
    let part = (total_bytes / threads).max(PART_BYTES.min(total_bytes)) / size_of::<u64>();
    let barrier = Barrier::new(threads);
    let mut each: Vec<Vec<Duration>> = Vec::new();
    thread::scope(|scope| {
        let read = || {
            let data = vec![1_u64; part];
            let pass = |_| {
                barrier.wait();
                let start = Instant::now();
                black_box(sum(&data));
                start.elapsed()
            };
            (0..repetitions).map(pass).collect::<Vec<_>>()
        };
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(read)).collect();
        each.extend(running.into_iter().filter_map(|thread| thread.join().ok()));
    });
    // The slowest thread of a repetition counts: all of them shared the memory until then.
    (0..repetitions)
        .filter_map(|i| each.iter().map(|times| times[i]).max())
        .map(|time| (threads * part * size_of::<u64>()) as f64 / time.as_secs_f64())
        .collect()
}

fn sum(data: &[u64]) -> u64 {
    black_box(data)
        .iter()
        .fold(0, |sum, &word| sum.wrapping_add(word))
}

/// Runs `measure` while `readers` other threads read memory without pause.
pub fn under_load<T>(readers: usize, total_bytes: usize, measure: impl FnOnce() -> T) -> T {
    let (stop, ready) = (AtomicBool::new(false), AtomicUsize::new(0));
    let part = total_bytes / readers.max(1) / size_of::<u64>();
    thread::scope(|scope| {
        for _ in 0..readers {
            scope.spawn(|| {
                let data = vec![1_u64; part];
                ready.fetch_add(1, Ordering::Relaxed);
                while !stop.load(Ordering::Relaxed) {
                    // Looked at often, so that the end does not wait for a whole pass.
                    for part in data.chunks(1 << 17) {
                        black_box(sum(part));
                        if stop.load(Ordering::Relaxed) {
                            break;
                        }
                    }
                }
            });
        }
        while ready.load(Ordering::Relaxed) < readers {
            thread::sleep(Duration::from_millis(1));
        }
        let measured = measure();
        stop.store(true, Ordering::Relaxed);
        measured
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_caches_as_sys_tells_them() {
        assert_eq!(cache_bytes("266240K\n"), Some(266_240 << 10));
        assert_eq!(
            (cache_bytes("8M"), cache_bytes("512")),
            (Some(8 << 20), Some(512))
        );
        assert_eq!((cache_bytes(""), cache_bytes("12Q")), (None, None));
        assert!(beyond_cache(1 << 40) == 1 << 40 && beyond_cache(0) > 0);
    }

    #[test]
    fn all_threads_are_among_those_tried() {
        assert_eq!(thread_counts(1), [1]);
        assert_eq!(thread_counts(2), [1, 2]);
        assert_eq!(thread_counts(12), [1, 2, 4, 8, 12]);
        assert_eq!(thread_counts(8), [1, 2, 4, 8]);
    }

    #[test]
    fn reading_gives_a_rate_and_load_ends_with_what_it_was_for() {
        let rates = bandwidth(2, 1 << 16, 3);
        assert_eq!(rates.len(), 3);
        assert!(rates.iter().all(|rate| rate.is_finite() && *rate > 0.0));
        assert_eq!(under_load(2, 1 << 16, || 42), 42);
        assert_eq!(under_load(0, 1 << 16, || 42), 42);
    }
}
