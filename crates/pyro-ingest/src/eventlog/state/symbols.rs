//! Small numbers for strings that come again and again.

use rustc_hash::FxHashMap;

use crate::eventlog::json::Text;

/// A string of a [`Symbols`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Symbol(u32);

/// Strings that were seen, each once. Used only for what an application has few of: hosts,
/// executors, metric names and types.
#[derive(Debug, Default)]
pub struct Symbols {
    numbers: FxHashMap<Box<[u8]>, Symbol>,
    texts: Vec<String>,
}

impl Symbols {
    /// The number of `text`.
    #[inline]
    pub fn add(&mut self, text: Text<'_>) -> Symbol {
        if let Some(&symbol) = self.numbers.get(text.raw) {
            return symbol;
        }
        let symbol = Symbol(self.texts.len() as u32);
        self.texts.push(text.decode().into_owned());
        self.numbers.insert(text.raw.into(), symbol);
        symbol
    }

    /// The string behind `symbol`.
    pub fn text(&self, symbol: Symbol) -> &str {
        &self.texts[symbol.0 as usize]
    }
}
