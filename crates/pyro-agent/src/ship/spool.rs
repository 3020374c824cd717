//! What is taken while the store is away: the raw files themselves are the spool, and it has a bound.

/// Whether a file may have more bytes wait for the store.
///
/// `total` bytes wait, `own` of them of this file, one of `files`. Half of the bound is for whoever comes first;
/// of the other half every file has its share, so that a bulky stream does not cost a small one anything.
pub fn admits(total: u64, own: u64, files: usize, bound: u64) -> bool {
    let half = bound / 2;
    total < half || own < half / files.max(1) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_bulky_stream_costs_a_small_one_nothing() {
        let (bulky, small) = (600, 20);
        assert!(!admits(bulky + small, bulky, 5, 1000));
        assert!(admits(bulky + small, small, 5, 1000));
        assert!(admits(400, 400, 5, 1000));
    }

    proptest! {
        #[test]
        fn the_bound_is_kept(
            bound in 0u64..10_000,
            steps in prop::collection::vec((0usize..7, 1u64..100), 0..600),
        ) {
            let mut own = [0; 7];
            for (file, more) in steps {
                if admits(own.iter().sum(), own[file], own.len(), bound) {
                    own[file] += more;
                }
            }
            let largest_piece = 100;
            prop_assert!(own.iter().sum::<u64>() <= bound + 8 * largest_piece);
        }
    }
}
