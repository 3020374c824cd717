//! Independent pieces of work on several threads.

use std::panic::resume_unwind;
use std::sync::Mutex;

/// Does `jobs` on so many threads; gives what came of them in their order.
///
/// # Panics
/// If a job does, with its message.
pub fn at_once<T: Send>(threads: usize, jobs: Vec<impl FnOnce() -> T + Send>) -> Vec<T> {
    if threads <= 1 || jobs.len() <= 1 {
        return jobs.into_iter().map(|job| job()).collect();
    }
    let threads = threads.min(jobs.len());
    let waiting = Mutex::new(jobs.into_iter().enumerate());
    let work = || {
        let next = || waiting.lock().ok()?.next();
        std::iter::from_fn(next)
            .map(|(place, job)| (place, job()))
            .collect::<Vec<_>>()
    };
    let mut done = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_whatever_the_number_of_threads() {
        for threads in 0..5 {
            let jobs: Vec<_> = (0..20).map(|number| move || number * 2).collect();
            let doubled: Vec<i32> = (0..20).map(|number| number * 2).collect();
            assert_eq!(at_once(threads, jobs), doubled);
        }
    }

    #[test]
    #[should_panic(expected = "the third")]
    fn a_panic_is_passed_on() {
        let job = |number| move || assert!(number != 3, "the third");
        at_once(3, (0..9).map(job).collect());
    }
}
