//! Names of the kernel's functions, from `/proc/kallsyms`.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader};

/// Functions by address.
#[derive(Debug, Default)]
pub struct Symbols {
    /// Start of a function, and where its name ends in `names`; the name begins where the one read before it ends.
    functions: Vec<(u64, u32, u32)>,
    names: String,
}

impl Symbols {
    /// Reads the kernel's list. Empty where addresses are hidden from us.
    pub fn read() -> Self {
        File::open("/proc/kallsyms").map_or_else(
            |_| Self::default(),
            |file| Self::parse(BufReader::with_capacity(256 << 10, file)),
        )
    }

    /// Reads a list: address, kind, name and for modules their name, a symbol a line.
    pub fn parse(mut lines: impl BufRead) -> Self {
        let mut symbols = Self::default();
        let mut line = Vec::new();
        while matches!(lines.read_until(b'\n', &mut line), Ok(1..)) {
            if let Some((address, name)) = function(&String::from_utf8_lossy(&line)) {
                let begin = symbols.names.len() as u32;
                symbols.names.push_str(name);
                let end = symbols.names.len() as u32;
                symbols.functions.push((address, begin, end));
            }
            line.clear();
        }
        // Of several names of one address the first one in the list: the sort is stable.
        symbols.functions.sort_by_key(|function| function.0);
        symbols
    }

    /// Function that a return address lies in; the address where none is known.
    pub fn name(&self, return_address: u64) -> Cow<'_, str> {
        // A call may be the last instruction of its function.
        let at = return_address.wrapping_sub(1);
        let after = self.functions.partition_point(|function| function.0 <= at);
        let Some(last) = after.checked_sub(1) else {
            return Cow::Owned(format!("{return_address:#x}"));
        };
        let start = self.functions[last].0;
        let first = self.functions[..last].partition_point(|function| function.0 < start);
        let (_, begin, end) = self.functions[first];
        Cow::Borrowed(&self.names[begin as usize..end as usize])
    }
}

/// Address and name of a function that is somewhere.
fn function(line: &str) -> Option<(u64, &str)> {
    let mut words = line.split_ascii_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    let kind = words.next()?;
    let name = words.next()?;
    (address != 0 && matches!(kind, "t" | "T" | "w" | "W")).then_some((address, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIST: &str = "ffffffff81000000 T _text
ffffffff81000000 T startup_64
ffffffff81000100 t futex_wait
ffffffff81000180 d a_variable
ffffffff81000200 W do_syscall_64
ffffffffc0000000 t nfs_read\t[nfs]
rubbish
";

    #[test]
    fn return_addresses_have_the_name_of_their_caller() {
        let symbols = Symbols::parse(LIST.as_bytes());
        for (address, name) in [
            (0xffff_ffff_8100_0050, "_text"),
            (0xffff_ffff_8100_0100, "_text"),
            (0xffff_ffff_8100_0101, "futex_wait"),
            (0xffff_ffff_8100_01f0, "futex_wait"),
            (0xffff_ffff_8100_0200, "futex_wait"),
            (0xffff_ffff_c000_0123, "nfs_read"),
            (0x1234, "0x1234"),
        ] {
            assert_eq!(symbols.name(address), name, "{address:#x}");
        }
    }

    #[test]
    fn hidden_addresses_have_no_names() {
        let symbols = Symbols::parse("0000000000000000 T futex_wait\n".as_bytes());
        assert_eq!(symbols.name(0xffff_ffff_8100_0000), "0xffffffff81000000");
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "\\PC*|([0-9a-f]{0,17} [tTdW] [a-z]{0,4}\n){0,20}", at in any::<u64>()) {
            let _ = Symbols::parse(text.as_bytes()).name(at);
        }
    }
}
