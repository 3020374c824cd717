//! The host card's measurements: memory bandwidth and latency, and how steady the machine is.
//!
//! Raw repetitions are printed; the reader computes estimates.

mod reads;
mod room;

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Bytes of each array of a thread: far above any last-level cache's share.
const ARRAY_BYTES: usize = 128 << 20;
/// Bytes that all readers together read at least.
const READ_BYTES: usize = 256 << 20;
const READ_REPETITIONS: usize = 9;
/// Bytes that the pointer chase walks through at least.
const CHASE_BYTES: usize = 256 << 20;
const LINE_BYTES: usize = 64;
const BANDWIDTH_REPETITIONS: usize = 15;
const LATENCY_REPETITIONS: usize = 11;
const LATENCY_STEPS: usize = 400_000;
const ALU_REPETITIONS: usize = 200;
const ALU_STEPS: u64 = 4_000_000;
/// A canary is short and takes little memory beside an application: fewer threads, smaller arrays.
const CANARY_THREADS: usize = 4;
const CANARY_ARRAY_BYTES: usize = 32 << 20;
const CANARY_CHASE_BYTES: usize = 64 << 20;
const CANARY_REPETITIONS: usize = 5;
const CANARY_LATENCY_STEPS: usize = 100_000;
const CANARY_ALU_STEPS: u64 = 8_000_000;

/// Measures for about ten seconds and returns the repetitions as JSON; with fewer threads than CPUs
/// where they would take more than half of the memory that is free.
///
/// # Errors
/// If not even one thread has the memory: smaller arrays would measure the caches.
pub fn report() -> Result<Value, String> {
    let cpus = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let (read_bytes, chase_bytes) = (
        reads::beyond_cache(READ_BYTES),
        reads::beyond_cache(CHASE_BYTES),
    );
    let needed = |threads| needed_bytes(threads, read_bytes, chase_bytes);
    let free = room::free_bytes();
    let threads = room::threads_in(free, cpus, needed).ok_or_else(|| {
        format!(
            "memory takes {} MiB to measure, more than half of the {} MiB that are free here",
            needed(1) >> 20,
            free.unwrap_or(0) >> 20
        )
    })?;
    let (copy, triad) = bandwidth(threads, ARRAY_BYTES / 8, BANDWIDTH_REPETITIONS);
    let reading = reads::thread_counts(threads)
        .into_iter()
        .map(|count| {
            (
                count.to_string(),
                reads::bandwidth(count, read_bytes, READ_REPETITIONS).into(),
            )
        })
        .collect();
    let chase = || latency(chase_bytes, LATENCY_STEPS, LATENCY_REPETITIONS);
    let loaded = (threads > 1).then(|| reads::under_load(threads - 1, read_bytes, chase));
    Ok(json!({
        "cpus_count": cpus,
        "threads_count": threads,
        "array_bytes": ARRAY_BYTES,
        "chase_bytes": chase_bytes,
        "read_bytes": read_bytes,
        "read_bytes_per_s": Value::Object(reading),
        "latency_loaded_ns": loaded,
        "copy_bytes_per_s": copy,
        "triad_bytes_per_s": triad,
        "latency_ns": chase(),
        "alu_ns": alu(ALU_STEPS, ALU_REPETITIONS),
        "alu_steps_count": ALU_STEPS,
    }))
}

/// Bytes that the measurements take, of which one runs after the other: arrays to copy, or a chase
/// and its order beside what is read.
fn needed_bytes(threads: usize, read_bytes: usize, chase_bytes: usize) -> usize {
    let chasing = chase_bytes + chase_bytes / LINE_BYTES * size_of::<u32>() + read_bytes;
    chasing.max(3 * ARRAY_BYTES * threads)
}

/// Measures for a few tenths of a second what the machine attains now, and returns the repetitions.
pub fn canary() -> Value {
    let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let (copy, _) = bandwidth(
        threads.min(CANARY_THREADS),
        CANARY_ARRAY_BYTES / 8,
        CANARY_REPETITIONS,
    );
    json!({
        "copy_bytes_per_s": copy,
        "latency_ns": latency(CANARY_CHASE_BYTES, CANARY_LATENCY_STEPS, CANARY_REPETITIONS),
        "alu_ns": alu(CANARY_ALU_STEPS, CANARY_REPETITIONS),
    })
}

/// Bytes per second of `c = a` (2 × 8 bytes an element) and of `c = a + s·b` (3 × 8), all threads together.
fn bandwidth(threads: usize, elements: usize, repetitions: usize) -> (Vec<f64>, Vec<f64>) {
    let barrier = Barrier::new(threads);
    let mut each: Vec<Vec<(Duration, Duration)>> = Vec::new();
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|_| scope.spawn(|| kernels(&barrier, elements, repetitions)))
            .collect();
        each.extend(running.into_iter().filter_map(|thread| thread.join().ok()));
    });
    // The slowest thread of a repetition counts: all of them shared the memory until then.
    let slowest = |pick: fn(&(Duration, Duration)) -> Duration, bytes: usize| {
        (0..repetitions)
            .filter_map(|i| each.iter().map(|times| pick(&times[i])).max())
            .map(|time| (threads * elements * bytes) as f64 / time.as_secs_f64())
            .collect()
    };
    (slowest(|times| times.0, 16), slowest(|times| times.1, 24))
}

fn kernels(barrier: &Barrier, elements: usize, repetitions: usize) -> Vec<(Duration, Duration)> {
    let a: Vec<f64> = (0..elements).map(|i| i as f64).collect();
    let b = vec![1.5f64; elements];
    let mut c = vec![0.0f64; elements];
    (0..repetitions)
        .map(|_| {
            barrier.wait();
            let start = Instant::now();
            c.copy_from_slice(black_box(&a));
            black_box(&mut c);
            let copied = start.elapsed();
            barrier.wait();
            let start = Instant::now();
            for ((c, a), b) in c.iter_mut().zip(black_box(&a)).zip(black_box(&b)) {
                *c = a + 3.0 * b;
            }
            black_box(&mut c);
            (copied, start.elapsed())
        })
        .collect()
}

/// Nanoseconds of one dependent load in a random cycle through all cache lines of `bytes`.
fn latency(bytes: usize, steps: usize, repetitions: usize) -> Vec<f64> {
    let next = cycle(bytes / LINE_BYTES);
    let mut at = 0usize;
    (0..repetitions)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..steps {
                at = next[at] as usize;
            }
            let elapsed = start.elapsed();
            black_box(at);
            elapsed.as_nanos() as f64 / steps as f64
        })
        .collect()
}

/// One cycle through all lines in random order (Sattolo); the successor stands at each line's start.
fn cycle(lines: usize) -> Vec<u32> {
    let words = LINE_BYTES / size_of::<u32>();
    let mut order: Vec<u32> = (0..lines as u32).collect();
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for i in (1..lines).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        order.swap(i, (state % i as u64) as usize);
    }
    let mut next = vec![0u32; lines * words];
    for (line, &successor) in order.iter().enumerate() {
        next[line * words] = successor * words as u32;
    }
    next
}

/// Nanoseconds of the same dependent steps, again and again: what varies is not the work.
///
/// A step shifts before it multiplies: a compiler merges several multiplications into one.
fn alu(steps: u64, repetitions: usize) -> Vec<u64> {
    (0..repetitions)
        .map(|_| {
            let start = Instant::now();
            let mut x = black_box(1u64);
            for _ in 0..steps {
                x = (x ^ (x >> 29)).wrapping_mul(6_364_136_223_846_793_005);
            }
            black_box(x);
            start.elapsed().as_nanos() as u64
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_grows_with_the_threads_that_copy() {
        let needed = |threads| needed_bytes(threads, READ_BYTES, CHASE_BYTES);
        assert_eq!(needed(1), (256 + 256 + 16) << 20);
        assert_eq!(needed(64), (64 * 384) << 20);
    }

    #[test]
    fn the_chase_visits_every_line_once() {
        for lines in [2usize, 3, 64, 1000] {
            let next = cycle(lines);
            let (mut at, mut seen) = (0usize, 0usize);
            loop {
                at = next[at] as usize;
                seen += 1;
                if at == 0 {
                    break;
                }
            }
            assert_eq!(seen, lines);
        }
    }

    #[test]
    fn every_repetition_gives_a_positive_figure() {
        let (copy, triad) = bandwidth(2, 1 << 12, 3);
        assert_eq!((copy.len(), triad.len()), (3, 3));
        assert!(
            copy.iter()
                .chain(&triad)
                .all(|rate| rate.is_finite() && *rate > 0.0)
        );
        assert!(latency(1 << 16, 1000, 3).iter().all(|ns| *ns > 0.0));
    }

    #[test]
    fn twice_the_work_takes_about_twice_the_time() {
        // In turns, so that other load affects both.
        let (mut longer, mut shorter) = (u64::MAX, u64::MAX);
        for _ in 0..40 {
            longer = longer.min(alu(2_000_000, 1)[0]);
            shorter = shorter.min(alu(1_000_000, 1)[0]);
        }
        let ratio = longer as f64 / shorter as f64;
        assert!(
            (1.3..3.2).contains(&ratio),
            "{ratio}: the loop was folded away"
        );
    }
}
