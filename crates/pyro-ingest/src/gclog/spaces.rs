//! Sizes of the generations at a collection: several lines that come before the pause's own.

use super::message::Space;

/// Before and after.
type Sizes = (i64, i64);

/// What the lines of one collection have said so far.
#[derive(Debug, Default, Clone, Copy)]
pub struct Spaces {
    gc_id: i64,
    /// By [`Space`]: bytes, or regions.
    sizes: [Option<Sizes>; 6],
}

/// Bytes of the generations, as far as they are known.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Eden and survivors.
    pub young: Option<Sizes>,
    /// Old generation.
    pub old: Option<Sizes>,
    /// Humongous objects.
    pub humongous: Option<Sizes>,
    /// What the sizes are multiples of.
    pub resolution: Option<i64>,
}

impl Spaces {
    /// Takes a line in; the first line of another collection forgets the one before.
    pub fn note(&mut self, gc_id: i64, space: Space, sizes: Sizes) {
        if self.gc_id != gc_id {
            *self = Self {
                gc_id,
                ..Self::default()
            };
        }
        self.sizes[space as usize] = Some(sizes);
    }

    /// Sizes at collection `gc_id`; regions are counted in `region_bytes`.
    pub fn bytes(&self, gc_id: i64, region_bytes: Option<i64>) -> Parts {
        if gc_id != self.gc_id {
            return Parts::default();
        }
        let of = |space: Space| self.sizes[space as usize];
        let regions = |space: Space| {
            let (sizes, region) = (of(space)?, region_bytes?);
            Some((sizes.0.checked_mul(region)?, sizes.1.checked_mul(region)?))
        };
        let young = match (regions(Space::EdenRegions), regions(Space::SurvivorRegions)) {
            (Some(eden), Some(survivor)) => {
                let before = eden.0.checked_add(survivor.0);
                before.zip(eden.1.checked_add(survivor.1))
            }
            _ => None,
        };
        let resolution = if of(Space::Young).is_some() {
            Some(1 << 10)
        } else {
            young.and(region_bytes)
        };
        Parts {
            young: of(Space::Young).or(young),
            old: of(Space::Old).or_else(|| regions(Space::OldRegions)),
            humongous: regions(Space::HumongousRegions),
            resolution,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_become_bytes_and_another_collection_begins_anew() {
        let mut spaces = Spaces::default();
        spaces.note(5, Space::EdenRegions, (51, 0));
        spaces.note(5, Space::SurvivorRegions, (6, 5));
        spaces.note(5, Space::OldRegions, (4, 7));
        let parts = spaces.bytes(5, Some(1 << 20));
        assert_eq!(parts.young, Some((57 << 20, 5 << 20)));
        assert_eq!(parts.old, Some((4 << 20, 7 << 20)));
        assert_eq!((parts.humongous, parts.resolution), (None, Some(1 << 20)));
        assert_eq!(spaces.bytes(5, None), Parts::default());
        assert_eq!(spaces.bytes(6, Some(1 << 20)), Parts::default());
        spaces.note(6, Space::Old, (100, 200));
        assert_eq!(spaces.bytes(6, Some(1 << 20)).young, None);
    }

    #[test]
    fn sizes_beyond_64_bits_are_left_out() {
        let mut spaces = Spaces::default();
        spaces.note(1, Space::OldRegions, (i64::MAX, 1));
        assert_eq!(spaces.bytes(1, Some(2)).old, None);
    }
}
