//! Executors with a free slot, the least busy first.

/// More busy slots than any executor has.
const NONE: u32 = u32::MAX;

/// A tree of the least busy slots: of each executor, of pairs, of pairs of pairs.
#[derive(Debug)]
pub(crate) struct Free {
    /// The root is 1, below `n` are `2n` and `2n + 1`; executors begin at `width`.
    least: Vec<u32>,
    width: usize,
}

impl Free {
    /// None of so many executors has a free slot.
    pub fn new(executors: usize) -> Self {
        let width = executors.next_power_of_two();
        Self {
            least: vec![NONE; 2 * width],
            width,
        }
    }

    /// An executor has a free slot, and so many busy ones; `None`: it has no free slot.
    pub fn set(&mut self, executor: usize, busy: Option<u32>) {
        let mut at = self.width + executor;
        self.least[at] = busy.unwrap_or(NONE);
        while at > 1 {
            at /= 2;
            let least = self.least[2 * at].min(self.least[2 * at + 1]);
            if self.least[at] == least {
                break;
            }
            self.least[at] = least;
        }
    }

    /// Busy slots of an executor that has a free one.
    pub fn busy(&self, executor: usize) -> Option<u32> {
        Some(self.least[self.width + executor]).filter(|&busy| busy != NONE)
    }

    /// Whether any executor has a free slot.
    pub fn any(&self) -> bool {
        self.least[1] != NONE
    }

    /// The least busy executor with a free slot; of several, the first.
    pub fn first(&self) -> Option<usize> {
        if !self.any() {
            return None;
        }
        let mut at = 1;
        while at < self.width {
            at = 2 * at + usize::from(self.least[2 * at] != self.least[at]);
        }
        Some(at - self.width)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::Free;

    proptest! {
        #[test]
        fn it_is_as_a_set_in_order(
            executors in 1usize..20,
            steps in proptest::collection::vec((0usize..20, proptest::option::of(0u32..5)), 0..60),
        ) {
            let (mut free, mut set) = (Free::new(executors), BTreeSet::new());
            for (executor, busy) in steps {
                let executor = executor % executors;
                set.retain(|&(_, other)| other != executor);
                set.extend(busy.map(|busy| (busy, executor)));
                free.set(executor, busy);
                prop_assert_eq!(free.first(), set.first().map(|&(_, first)| first));
                prop_assert_eq!(free.any(), !set.is_empty());
                prop_assert_eq!(free.busy(executor), busy);
            }
        }
    }
}
