//! Numbers for things that their owner keeps.

/// A hash table of numbers alone: the things themselves lie in an arena of the owner's, who
/// compares. Saves an allocation and a copy for every distinct item.
#[derive(Debug, Default, Clone)]
pub struct Interner {
    /// Upper half: of the hash; lower half: the number + 1, or 0 where the slot is free.
    slots: Vec<u64>,
    len: usize,
}

/// Free slots at the start.
const MIN_SLOTS: usize = 64;

impl Interner {
    /// The number of the item with this hash for which `same` holds. `Err`: it is new and got
    /// the next number; the owner's arena must hold it from now on.
    ///
    /// # Errors
    /// The new number.
    ///
    /// # Panics
    /// Beyond 2³² - 2 things.
    #[inline]
    pub fn find(&mut self, hash: u64, mut same: impl FnMut(u32) -> bool) -> Result<u32, u32> {
        if self.len * 8 >= self.slots.len() * 5 {
            self.grow();
        }
        // Multiplying spreads what the hash knows over the upper half, which is all that is kept.
        let tag = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let mask = self.slots.len() - 1;
        let mut at = tag as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                let number = u32::try_from(self.len)
                    .ok()
                    .filter(|&n| n < u32::MAX)
                    .expect("fewer than 2^32 distinct things");
                self.slots[at] = tag << 32 | u64::from(number + 1);
                self.len += 1;
                return Err(number);
            }
            if slot >> 32 == tag && same(slot as u32 - 1) {
                return Ok(slot as u32 - 1);
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(MIN_SLOTS);
        let old = std::mem::replace(&mut self.slots, vec![0; size]);
        for slot in old.into_iter().filter(|&slot| slot != 0) {
            let mut at = (slot >> 32) as usize & (size - 1);
            while self.slots[at] != 0 {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_given_once_and_found_again() {
        let mut interner = Interner::default();
        let mut arena: Vec<u64> = Vec::new();
        let mut number = |value: u64| {
            // A poor hash: many collide.
            match interner.find(value % 97, |known| arena[known as usize] == value) {
                Ok(known) => known,
                Err(new) => {
                    arena.push(value);
                    new
                }
            }
        };
        assert!((0..5000).all(|value| number(value) == value as u32));
        assert!((0..5000).all(|value| number(value) == value as u32));
        assert_eq!(arena.len(), 5000);
    }
}
