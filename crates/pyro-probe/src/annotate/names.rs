//! Names of values: lines `value name` or `value = "name"`.

use std::collections::HashMap;

/// What a value is called.
pub type Names = HashMap<i128, String>;

/// Entries of a table at most.
const MOST: usize = 100_000;

/// Parses a table. Values are decimal or `0x…`, may be negative; `#` begins a comment.
///
/// # Errors
/// The line and what is wrong in it.
pub fn parse(text: &str) -> Result<Names, String> {
    let mut names = Names::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let at = |what: &str| format!("line {}: {what}", number + 1);
        let end = line
            .find(|c: char| c == '=' || c.is_whitespace())
            .ok_or_else(|| at("a value without a name"))?;
        let value = integer(&line[..end])
            .ok_or_else(|| at(&format!("{:?} is not a whole number", &line[..end])))?;
        let rest = line[end..].trim_start();
        let name = unquoted(rest.strip_prefix('=').unwrap_or(rest).trim());
        if name.is_empty() {
            return Err(at("a value without a name"));
        }
        if names.insert(value, name.to_owned()).is_some() {
            return Err(at(&format!("{} has a name already", &line[..end])));
        }
        if names.len() > MOST {
            return Err(at(&format!("more than {MOST} names")));
        }
    }
    Ok(names)
}

/// The text of `"…"`, which may be followed by a comment, else all of it.
fn unquoted(text: &str) -> &str {
    let inner = text.strip_prefix('"').and_then(|rest| rest.split_once('"'));
    inner.map_or(text, |(inner, _)| inner)
}

/// A whole number, decimal or hexadecimal.
pub fn integer(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    // What the standard library takes besides: signs.
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let hex = digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"));
    let value = match hex {
        Some(hex) if hex.starts_with(['+', '-']) => return None,
        Some(hex) => i128::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_ways_to_write_a_line() {
        let text =
            "# states\n0 idle\n0x10 \"waiting for a lock\" # see lock.c\n-1 = \"gone\"\n7=x y\n";
        let names = parse(text).unwrap();
        let name = |value| names.get(&value).map(String::as_str);
        assert_eq!(name(0), Some("idle"));
        assert_eq!(name(16), Some("waiting for a lock"));
        assert_eq!(name(-1), Some("gone"));
        assert_eq!(name(7), Some("x y"));
        assert_eq!(names.len(), 4);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, line, word) in [
            ("1 a\nb c", "line 2", "\"b\""),
            ("1", "line 1", "without a name"),
            ("1 =", "line 1", "without a name"),
            ("1 a\n\n0x1 b", "line 3", "already"),
            ("--1 a", "line 1", "not a whole number"),
            ("0x a", "line 1", "not a whole number"),
            (
                "340282366920938463463374607431768211456 a",
                "line 1",
                "not a whole number",
            ),
        ] {
            let message = parse(text).unwrap_err();
            assert!(
                message.contains(line) && message.contains(word),
                "{text:?}: {message}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_table_or_an_error(text in "\\PC*|([0-9x\\-=\" a\n#]{0,60})") {
            let _ = parse(&text);
        }

        #[test]
        fn what_is_written_is_read(names in proptest::collection::hash_map(any::<i64>(), "[a-z][a-z ]{0,9}[a-z]", 0..20)) {
            let text: String = names.iter().map(|(value, name)| format!("{value} {name}\n")).collect();
            let read = parse(&text).unwrap();
            prop_assert_eq!(read.len(), names.len());
            for (value, name) in names {
                prop_assert_eq!(&read[&i128::from(value)], &name);
            }
        }
    }
}
