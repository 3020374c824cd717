//! The dictionary of kernel stacks: a stack is looked up or gets a number, and rows come with the
//! housekeeping, once the kernel's symbols were read.

mod symbols;

use std::collections::HashMap;
use std::thread::JoinHandle;

use crate::output::Outputs;
use symbols::Symbols;

/// Distinct stacks kept; a workload has some hundreds.
const LIMIT: usize = 1 << 16;

/// Numbers of distinct stacks.
#[derive(Default)]
pub struct KernelStacks {
    of_addresses: HashMap<Box<[u64]>, i32>,
    of_symbols: HashMap<Box<str>, i32>,
    /// Stacks without a row yet.
    unresolved: Vec<(i32, Box<[u64]>)>,
    resolved: Vec<(i32, Box<str>)>,
    names: Names,
    /// Stacks beyond the limit.
    pub dropped: u64,
    scratch: Vec<u64>,
}

/// The kernel's symbols are read when the first addresses wait for them, beside the passes.
#[derive(Default)]
enum Names {
    #[default]
    NotNeeded,
    Coming(JoinHandle<Symbols>),
    There(Symbols),
}

impl KernelStacks {
    fn next(&mut self) -> Option<i32> {
        let count = self.of_addresses.len() + self.of_symbols.len();
        if count >= LIMIT {
            self.dropped += 1;
            return None;
        }
        i32::try_from(count).ok()
    }

    /// Number of a stack of addresses, leaf first; `None` without frames, or beyond the limit.
    pub fn of_addresses(&mut self, frames: impl Iterator<Item = u64>) -> Option<i32> {
        self.scratch.clear();
        self.scratch.extend(frames);
        if self.scratch.is_empty() {
            return None;
        }
        if let Some(&number) = self.of_addresses.get(self.scratch.as_slice()) {
            return Some(number);
        }
        let number = self.next()?;
        let frames: Box<[u64]> = self.scratch.as_slice().into();
        self.unresolved.push((number, frames.clone()));
        self.of_addresses.insert(frames, number);
        Some(number)
    }

    /// Number of a stack of symbols, leaf first.
    pub fn of_symbols<'a>(&mut self, leaf_first: impl Iterator<Item = &'a str>) -> Option<i32> {
        let mut symbols: Vec<&str> = leaf_first.collect();
        if symbols.is_empty() {
            return None;
        }
        symbols.reverse();
        let symbols = symbols.join(";");
        if let Some(&number) = self.of_symbols.get(symbols.as_str()) {
            return Some(number);
        }
        let number = self.next()?;
        let symbols: Box<str> = symbols.into();
        self.resolved.push((number, symbols.clone()));
        self.of_symbols.insert(symbols, number);
        Some(number)
    }

    /// Appends rows of new stacks; those of addresses once the symbols are there. `wait` for them.
    pub fn write(&mut self, outputs: &mut Outputs, wait: bool) {
        if !self.unresolved.is_empty() {
            self.names = match std::mem::take(&mut self.names) {
                Names::NotNeeded => Names::Coming(std::thread::spawn(Symbols::read)),
                Names::Coming(reader) if wait || reader.is_finished() => {
                    Names::There(reader.join().unwrap_or_default())
                }
                other => other,
            };
            if wait && matches!(self.names, Names::Coming(_)) {
                return self.write(outputs, wait);
            }
        }
        if let Names::There(symbols) = &self.names {
            for (number, frames) in self.unresolved.drain(..) {
                let root_first: Vec<_> = frames.iter().rev().map(|&at| symbols.name(at)).collect();
                self.resolved.push((number, root_first.join(";").into()));
            }
        }
        for (number, symbols) in self.resolved.drain(..) {
            let rows = &mut outputs.kernel_stacks.rows;
            rows.host.append_value(&outputs.host);
            rows.stack_id.append_value(number);
            rows.symbols.append_value(&symbols);
            outputs.kernel_stacks.row_done();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_stack_has_the_same_number_and_one_row() {
        let folder = tempfile::tempdir().unwrap();
        let mut outputs = Outputs::create(folder.path(), "h", 1).unwrap();
        let mut stacks = KernelStacks::default();
        let first = stacks.of_addresses([3, 2, 1].into_iter());
        assert_eq!(first, Some(0));
        assert_eq!(stacks.of_addresses([3, 2].into_iter()), Some(1));
        assert_eq!(stacks.of_addresses([3, 2, 1].into_iter()), first);
        assert_eq!(stacks.of_addresses([].into_iter()), None);
        let symbols = || ["futex_wait", "do_syscall_64"].into_iter();
        assert_eq!(stacks.of_symbols(symbols()), Some(2));
        assert_eq!(stacks.of_symbols(symbols()), Some(2));
        stacks.write(&mut outputs, true);
        stacks.write(&mut outputs, true);
        outputs.finish();
        assert_eq!(outputs.kernel_stacks.written, 3);
    }

    #[test]
    fn stacks_beyond_the_limit_are_counted() {
        let mut stacks = KernelStacks::default();
        for address in 0..LIMIT as u64 + 5 {
            stacks.of_addresses([address].into_iter());
        }
        assert_eq!(stacks.dropped, 5);
        assert_eq!(stacks.of_addresses([7].into_iter()), Some(7));
    }
}
