//! How many threads may work at once.

use std::sync::OnceLock;

/// Threads beyond this gain little: the rows of a stream are put together in its order by one.
const MOST: usize = 8;

/// Threads that may work at once: the CPUs that this process may use (affinity and the quota of its
/// cgroup), 8 at most.
pub fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| {
        std::thread::available_parallelism()
            .map_or(1, usize::from)
            .min(MOST)
    })
}
