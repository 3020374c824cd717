//! What has ended already: an event that comes twice, from logs put behind one another, counts once.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

/// Kinds of an id that are told apart.
const KINDS: i64 = 4;
/// Ids of a page.
const IDS: i64 = 256;
/// Words of a page.
const WORDS: usize = (IDS * KINDS / 64) as usize;
/// Pages kept: 67 million ids in a row, 32 MiB. Beyond that all are forgotten.
const PAGES: usize = 1 << 18;

/// A set of ids, each of a few kinds, in few bits where ids lie close together.
#[derive(Debug, Default)]
pub struct Seen {
    pages: FxHashMap<i64, Box<[u64; WORDS]>>,
}

impl Seen {
    /// Notes an id; whether it is there for the first time. Kinds from the fourth on are always new.
    pub fn first(&mut self, id: i64, kind: i64) -> bool {
        if !(0..KINDS).contains(&kind) {
            return true;
        }
        if self.pages.len() >= PAGES {
            self.pages.clear();
        }
        let page = self.pages.entry(id.div_euclid(IDS)).or_default();
        let (word, bit) = place(id, kind);
        let first = page[word] & bit == 0;
        page[word] |= bit;
        first
    }

    /// Whether an id was noted with a kind.
    pub fn has(&self, id: i64, kind: i64) -> bool {
        let (word, bit) = place(id, kind.clamp(0, KINDS - 1));
        let page = self.pages.get(&id.div_euclid(IDS));
        (0..KINDS).contains(&kind) && page.is_some_and(|page| page[word] & bit != 0)
    }

    /// Whether an id was noted with any kind.
    pub fn has_any(&self, id: i64) -> bool {
        (0..KINDS).any(|kind| self.has(id, kind))
    }
}

fn place(id: i64, kind: i64) -> (usize, u64) {
    let bit = id.rem_euclid(IDS) * KINDS + kind;
    ((bit / 64) as usize, 1 << (bit % 64))
}

/// Ends of an application's tasks, stages and jobs, and the events that came again.
#[derive(Debug, Default)]
pub struct Ends {
    /// Task attempts by how they ended: one that succeeded may be resubmitted.
    pub tasks: Seen,
    /// Stages by attempt.
    pub stages: Seen,
    /// Jobs.
    pub jobs: Seen,
    /// Events left out, by name.
    pub repeated: BTreeMap<&'static str, u64>,
    /// Starts of an application other than the one before.
    pub other_applications: u64,
}

impl Ends {
    /// Notes an event that was there before and is left out.
    pub fn again(&mut self, event: &'static str) {
        *self.repeated.entry(event).or_default() += 1;
    }

    /// Whether an id means the same all through the log.
    pub fn one_application(&self) -> bool {
        self.other_applications == 0
    }

    /// Another application begins, whose ids begin at 0 again.
    pub fn other_application(&mut self) {
        *self = Self {
            repeated: std::mem::take(&mut self.repeated),
            other_applications: self.other_applications + 1,
            ..Self::default()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_told_apart_by_kind_and_sign() {
        let mut seen = Seen::default();
        for id in [0, 1, 63, 64, 255, 256, -1, -256, i64::MAX, i64::MIN] {
            assert!(!seen.has_any(id), "{id}");
            for kind in 0..KINDS {
                assert!(seen.first(id, kind) && seen.has(id, kind), "{id} {kind}");
                assert!(!seen.first(id, kind), "{id} {kind}");
            }
        }
        assert!(seen.first(7, KINDS) && seen.first(7, KINDS) && !seen.has(7, KINDS));
        assert!(seen.first(7, -1) && !seen.has(7, -1) && !seen.has_any(7));
    }

    #[test]
    fn ids_far_apart_do_not_fill_the_memory() {
        let mut seen = Seen::default();
        for id in 0..PAGES as i64 + 10 {
            assert!(seen.first(id * IDS, 0));
        }
        assert!(seen.pages.len() <= 10);
    }
}
