//! Frames of call chains: `address symbol+offset (object)`.

use std::borrow::Cow;
use std::hash::Hasher;

use memchr::memrchr;
use rustc_hash::FxHasher;

use crate::folded::interner::Interner;
use crate::folded::name::{FrameName, frame_of, java, native_kind};
use crate::frame::FrameKind;

/// A frame as perf writes it, without address and offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RawFrame<'a> {
    symbol: &'a [u8],
    /// The object that holds the code; empty where the line has none.
    object: &'a [u8],
    inlined: bool,
}

/// Reads a frame that begins with an address from a line without blanks around it.
#[inline]
pub(super) fn parse(text: &[u8]) -> Option<RawFrame<'_>> {
    let digits = text
        .iter()
        .take_while(|byte| byte.is_ascii_hexdigit())
        .count();
    if !(1..=16).contains(&digits) || !matches!(text.get(digits), None | Some(b' ')) {
        return None;
    }
    let mut frame = named(&text[digits..]);
    if frame.symbol.is_empty() {
        // Without addresses (`-F sym,dso`) a short symbol may look like one: `add (libx.so)`.
        let is_address = digits >= 8 || text[..digits].iter().all(u8::is_ascii_digit);
        let is_symbol = !is_address && !frame.object.is_empty();
        frame.symbol = if is_symbol {
            &text[..digits]
        } else {
            b"[unknown]"
        };
    }
    Some(frame)
}

/// Reads a frame without an address, which then must have an object: `main (/bin/x)`.
pub(super) fn parse_without_address(text: &[u8]) -> Option<RawFrame<'_>> {
    let frame = named(text);
    let is_frame = !frame.symbol.is_empty() && (frame.inlined || !frame.object.is_empty());
    is_frame.then_some(frame)
}

#[inline]
fn named(text: &[u8]) -> RawFrame<'_> {
    let (symbol, object) = split_object(text.trim_ascii_start());
    let inlined = object == b"inlined";
    RawFrame {
        symbol: without_offset(symbol),
        object: if inlined { b"" } else { object },
        inlined,
    }
}

/// Parts `symbol (object)`. Objects may hold parentheses themselves: `(/lib/x.so (deleted))`.
#[inline]
fn split_object(text: &[u8]) -> (&[u8], &[u8]) {
    let Some(inside) = text.strip_suffix(b")") else {
        return (text, b"");
    };
    let mut open = memrchr(b'(', inside);
    if inside.ends_with(b")") {
        let mut depth = 1;
        open = inside.iter().rposition(|byte| {
            match byte {
                b')' => depth += 1,
                b'(' => depth -= 1,
                _ => {}
            }
            depth == 0
        });
    }
    match open {
        Some(0) => (b"", &inside[1..]),
        Some(at) if inside[at - 1] == b' ' => (text[..at].trim_ascii_end(), &inside[at + 1..]),
        _ => (text, b""),
    }
}

/// `main+0x1c` → `main`.
#[inline]
fn without_offset(symbol: &[u8]) -> &[u8] {
    let digits = symbol
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_hexdigit())
        .count();
    let head = &symbol[..symbol.len() - digits];
    match head.strip_suffix(b"+0x") {
        Some(name) if digits > 0 => name,
        _ => symbol,
    }
}

/// Distinct symbols, each with its object.
#[derive(Debug, Default)]
pub struct Symbols {
    numbers: Interner,
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    start: usize,
    symbol_len: usize,
    object_len: usize,
    inlined: bool,
}

impl Symbols {
    /// Distinct symbols.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none was seen yet.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Number of a symbol.
    #[inline]
    pub(super) fn number(&mut self, frame: &RawFrame<'_>) -> u32 {
        let mut hasher = FxHasher::default();
        hasher.write(frame.symbol);
        hasher.write(frame.object);
        hasher.write_u8(u8::from(frame.inlined));
        let (entries, bytes) = (&self.entries, &self.bytes);
        let same = |known: u32| {
            let entry = entries[known as usize];
            let (symbol, object) = entry.parts(bytes);
            symbol == frame.symbol && object == frame.object && entry.inlined == frame.inlined
        };
        self.numbers
            .find(hasher.finish(), same)
            .unwrap_or_else(|new| {
                self.entries.push(Entry {
                    start: self.bytes.len(),
                    symbol_len: frame.symbol.len(),
                    object_len: frame.object.len(),
                    inlined: frame.inlined,
                });
                self.bytes.extend_from_slice(frame.symbol);
                self.bytes.extend_from_slice(frame.object);
                new
            })
    }

    /// A symbol by its number.
    pub fn get(&self, number: u32) -> Symbol<'_> {
        let entry = self.entries[number as usize];
        let (symbol, object) = entry.parts(&self.bytes);
        Symbol {
            name: String::from_utf8_lossy(symbol),
            object: String::from_utf8_lossy(object),
            inlined: entry.inlined,
        }
    }
}

impl Entry {
    #[inline]
    fn parts<'a>(&self, bytes: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        bytes[self.start..self.start + self.symbol_len + self.object_len].split_at(self.symbol_len)
    }
}

/// A symbol and the object that holds its code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol<'a> {
    name: Cow<'a, str>,
    object: Cow<'a, str>,
    inlined: bool,
}

impl Symbol<'_> {
    /// The frames that it names, root first: more than one where a map of JIT-compiled code lists
    /// what was inlined (`caller->callee`).
    pub fn frames(&self) -> Vec<FrameName<'_>> {
        if !self.is_jit() {
            return vec![self.native()];
        }
        let mut parts = self.name.split("->");
        let outer = parts.next().map(|name| jit_frame(name, FrameKind::C2));
        let inlined = parts.map(|name| jit_frame(name, FrameKind::Inlined));
        outer.into_iter().chain(inlined).collect()
    }

    /// Code that was generated while the program ran, named by a map file or a jitdump.
    fn is_jit(&self) -> bool {
        let name = base(&self.object);
        (name.starts_with("perf-") && name.ends_with(".map"))
            || (name.starts_with("jitted-") && name.ends_with(".so"))
            || name.starts_with("[JIT]")
            || (self.object == "//anon" && java(&self.name).is_some())
    }

    fn native(&self) -> FrameName<'_> {
        let known = |place, method, kind| FrameName {
            place: Cow::Borrowed(place),
            method,
            line: None,
            kind,
        };
        let object = self
            .object
            .strip_suffix(" (deleted)")
            .unwrap_or(&self.object);
        if is_kernel(object) {
            return known("kernel", &self.name, FrameKind::Kernel);
        }
        if object.is_empty() || object == "[unknown]" {
            let mut frame = frame_of(&self.name);
            if self.inlined && frame.kind == FrameKind::Unknown && !frame.place.is_empty() {
                frame.kind = FrameKind::Inlined;
            }
            return frame;
        }
        known(base(object), &self.name, native_kind(&self.name))
    }
}

fn base(object: &str) -> &str {
    object.rsplit('/').next().unwrap_or(object)
}

/// The kernel itself, or a module of it: `[kernel.kallsyms]`, `[nf_tables]`, `vmlinux`, `x.ko.zst`.
fn is_kernel(object: &str) -> bool {
    const USER: [&str; 7] = [
        "unknown", "vdso", "vsyscall", "vvar", "stack", "heap", "uprobes",
    ];
    let name = base(object);
    if let Some(inside) = name
        .strip_prefix('[')
        .and_then(|rest| rest.split(']').next())
    {
        return !USER.contains(&inside) && !inside.starts_with("anon");
    }
    let module = name.split(".ko").nth(1);
    name == "vmlinux"
        || name.starts_with("vmlinux-")
        || name.starts_with("bpf_prog_")
        || module.is_some_and(|rest| matches!(rest, "" | ".xz" | ".gz" | ".zst"))
}

/// A name from a map of JIT-compiled code. The JVM writes methods with their signature:
/// `void java.lang.Thread.run()`.
fn jit_frame(name: &str, kind: FrameKind) -> FrameName<'_> {
    let bare = name.split('(').next().unwrap_or(name);
    let bare = bare.rsplit(' ').next().unwrap_or(bare);
    if let Some((place, method)) = java(name).or_else(|| java(bare)) {
        return FrameName {
            place,
            method,
            line: None,
            kind,
        };
    }
    let kind = if name == "Interpreter" {
        FrameKind::Interpreted
    } else {
        FrameKind::Unknown
    };
    FrameName {
        place: Cow::Borrowed(""),
        method: name,
        line: None,
        kind,
    }
}

#[cfg(test)]
mod tests;
