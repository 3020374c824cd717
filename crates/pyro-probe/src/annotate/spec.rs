//! `--annotate`: what to read, and what values are called.

use std::path::PathBuf;

use super::names::integer;

/// How often a pointer is followed at most.
const MOST_POINTERS: usize = 4;

/// Where a word lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// At an address, the same in every followed process.
    Absolute(u64),
    /// So many bytes behind a symbol of the executable or of a library.
    Symbol(String, u64),
}

/// What lies there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Type {
    /// Pointers to follow before the value is reached.
    pub pointers: usize,
    /// 1, 2, 4 or 8.
    pub bytes: usize,
    /// Whether its first bit is a sign.
    pub signed: bool,
}

/// What to read of each process, and what the values are called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spec {
    /// `word@ADDRESS[:TYPE][=NAMES]`.
    Word {
        /// Where it lies.
        place: Place,
        /// What it is.
        kind: Type,
        /// File of names.
        names: Option<PathBuf>,
    },
    /// `postgres[=NAMES]`: the wait event of a server's process.
    Postgres {
        /// File of names, in place of our own for the server's version.
        names: Option<PathBuf>,
    },
}

/// Parses the value of `--annotate`.
///
/// # Errors
/// What is wrong, in one line.
pub fn parse(text: &str) -> Result<Spec, String> {
    let (what, names) = match text.split_once('=') {
        Some((_, "")) => return Err(format!("{text}: no file of names behind =")),
        Some((what, file)) => (what, Some(PathBuf::from(file))),
        None => (text, None),
    };
    if what == "postgres" {
        return Ok(Spec::Postgres { names });
    }
    let Some(word) = what.strip_prefix("word@") else {
        return Err(format!(
            "{text}: neither word@ADDRESS[:TYPE][=NAMES] nor postgres[=NAMES]"
        ));
    };
    let (address, kind) = word.rsplit_once(':').unwrap_or((word, "u32"));
    Ok(Spec::Word {
        place: place(address).ok_or_else(|| {
            format!("{address}: neither a number nor a symbol, both perhaps with +OFFSET")
        })?,
        kind: type_of(kind).ok_or_else(|| {
            format!(
                "{kind}: unknown type; use u8 u16 u32 u64 i8 i16 i32 i64, or *u32: a pointer to one"
            )
        })?,
        names,
    })
}

fn place(text: &str) -> Option<Place> {
    let (base, offset) = match text.split_once('+') {
        Some((base, offset)) => (base, address(offset)?),
        None => (text, 0),
    };
    if base.starts_with(|c: char| c.is_ascii_digit()) {
        return Some(Place::Absolute(address(base)?.checked_add(offset)?));
    }
    let named = !base.is_empty() && !base.contains(|c: char| c.is_whitespace() || c == '-');
    named.then(|| Place::Symbol(base.to_owned(), offset))
}

fn address(text: &str) -> Option<u64> {
    u64::try_from(integer(text)?).ok()
}

fn type_of(text: &str) -> Option<Type> {
    let pointers = text.chars().take_while(|&c| c == '*').count();
    let (sign, bits) = text.get(pointers..)?.split_at_checked(1)?;
    let bytes = match bits {
        "8" => 1,
        "16" => 2,
        "32" => 4,
        "64" => 8,
        _ => return None,
    };
    let known = (sign == "u" || sign == "i") && pointers <= MOST_POINTERS;
    known.then_some(Type {
        pointers,
        bytes,
        signed: sign == "i",
    })
}

impl Type {
    /// The number that these bytes are.
    pub fn value(self, bytes: [u8; 8]) -> i128 {
        let shift = 64 - 8 * self.bytes as u32;
        let whole = u64::from_le_bytes(bytes) << shift;
        if self.signed {
            i128::from(whole as i64 >> shift)
        } else {
            i128::from(whole >> shift)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn word(text: &str) -> (Place, Type, Option<PathBuf>) {
        match parse(text).unwrap() {
            Spec::Word { place, kind, names } => (place, kind, names),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn all_forms() {
        let (place, kind, names) = word("word@0x7ffe10:i16");
        assert_eq!(place, Place::Absolute(0x7f_fe10));
        assert_eq!((kind.pointers, kind.bytes, kind.signed), (0, 2, true));
        assert_eq!(names, None);
        let (place, kind, names) = word("word@my_state+0x10:**u64=/tmp/names=1.txt");
        assert_eq!(place, Place::Symbol("my_state".into(), 16));
        assert_eq!((kind.pointers, kind.bytes, kind.signed), (2, 8, false));
        assert_eq!(names, Some("/tmp/names=1.txt".into()));
        assert_eq!(word("word@state").1.bytes, 4);
        assert_eq!(
            word("word@_ZN1a1bE:u8").0,
            Place::Symbol("_ZN1a1bE".into(), 0)
        );
        assert_eq!(parse("postgres"), Ok(Spec::Postgres { names: None }));
        let names = Some("n.txt".into());
        assert_eq!(parse("postgres=n.txt"), Ok(Spec::Postgres { names }));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, word) in [
            ("", "neither word@"),
            ("oracle", "postgres"),
            ("word@", "neither a number"),
            ("word@0xzz", "0xzz"),
            ("word@a b", "a b"),
            ("word@x:u7", "u7"),
            ("word@x:*****u8", "*****u8"),
            ("word@x:", "unknown type"),
            ("word@x=", "no file of names"),
            ("word@0xffffffffffffffff+1", "neither a number"),
        ] {
            let message = parse(text).unwrap_err();
            assert!(message.contains(word), "{text}: {message}");
        }
    }

    #[test]
    fn numbers_of_all_types() {
        let value = |text: &str, bytes: [u8; 8]| type_of(text).unwrap().value(bytes);
        assert_eq!(value("u8", [255, 1, 1, 1, 0, 0, 0, 0]), 255);
        assert_eq!(value("i8", [255, 1, 1, 1, 0, 0, 0, 0]), -1);
        assert_eq!(value("u32", [13, 0, 0, 10, 9, 9, 9, 9]), 0x0a00_000d);
        assert_eq!(value("i64", [255; 8]), -1);
        assert_eq!(value("u64", [255; 8]), i128::from(u64::MAX));
    }

    proptest! {
        #[test]
        fn any_text(text in "\\PC*|word@[a-z0-9x+:*=]{0,20}") {
            let _ = parse(&text);
        }
    }
}
