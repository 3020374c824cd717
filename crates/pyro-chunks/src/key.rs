//! Names of chunks in a store: whatever an application, a pod or a host is called, its name is one
//! part of a path, and says nothing to a shell, a file system or a URL.

use std::fmt::Write;

use twox_hash::XxHash3_64;

use crate::header::Source;

/// Longer parts are cut, and told apart by a hash.
const MAX_PART_BYTES: usize = 180;
const ENDING: &str = ".chunk";

/// A name as a part of a path: letters, digits, `_`, `-` and dots stay as they are; all else, a dot at
/// the beginning and the ending of chunks become `%` and two digits.
pub fn part(name: &str) -> String {
    let stem = name.strip_suffix(ENDING).unwrap_or(name).len();
    let mut text = String::with_capacity(name.len());
    for (at, byte) in name.bytes().enumerate() {
        match byte {
            b'.' if at != 0 && at != stem => text.push('.'),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' => text.push(byte.into()),
            _ => write!(text, "%{byte:02X}").expect("a string takes all"),
        }
    }
    if text.is_empty() {
        text.push('%');
    }
    if text.len() > MAX_PART_BYTES {
        let hash = XxHash3_64::oneshot(name.as_bytes());
        text.truncate(MAX_PART_BYTES - 18);
        write!(text, "%-{hash:016x}").expect("a string takes all");
    }
    text
}

/// The folder of a stream: application, executor, attempt, host, and the file's own folders and name.
pub fn stream_key(source: &Source, file: &str, generation: u32) -> String {
    let of = [&source.app, &source.executor, &source.attempt, &source.host];
    let mut parts: Vec<String> = of.map(|name| part(name)).to_vec();
    parts.extend(file.split('/').map(part));
    let mut key = parts.join("/");
    if generation > 0 {
        write!(key, "@{generation}").expect("a string takes all");
    }
    key
}

/// The name of a chunk.
pub fn chunk_key(stream: &str, sequence: u64) -> String {
    format!("{stream}/{sequence:012}{ENDING}")
}

/// The number of a chunk from the last part of its name.
pub fn sequence_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(ENDING)?;
    let plain = digits.len() >= 12 && digits.bytes().all(|byte| byte.is_ascii_digit());
    let sequence: u64 = plain.then(|| digits.parse().ok())??;
    (format!("{sequence:012}") == digits).then_some(sequence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ordinary_names_stay() {
        let source = Source {
            app: "app-20261126140000-0001".to_owned(),
            executor: "12".to_owned(),
            attempt: "18f3-7".to_owned(),
            host: "node7.example.org".to_owned(),
        };
        let key = stream_key(&source, "codegen/codegen-executor-12-77.ndjson", 0);
        let folder = "app-20261126140000-0001/12/18f3-7/node7.example.org";
        assert_eq!(
            key,
            format!("{folder}/codegen/codegen-executor-12-77.ndjson")
        );
        assert_eq!(
            chunk_key(&stream_key(&source, "gc-1.log", 2), 7),
            format!("{folder}/gc-1.log@2/000000000007.chunk")
        );
    }

    #[test]
    fn hostile_names_are_inert() {
        for (name, expected) in [
            ("", "%"),
            (".", "%2E"),
            ("..", "%2E."),
            ("../../etc/passwd", "%2E.%2F..%2Fetc%2Fpasswd"),
            ("a b;rm -rf $HOME`", "a%20b%3Brm%20-rf%20%24HOME%60"),
            ("x@1", "x%401"),
            ("0.chunk", "0%2Echunk"),
            ("%2E", "%252E"),
            ("ü\0\n", "%C3%BC%00%0A"),
        ] {
            assert_eq!(part(name), expected);
        }
        assert_eq!(part(&"%".repeat(4000)).len(), MAX_PART_BYTES);
    }

    #[test]
    fn numbers_of_chunks() {
        assert_eq!(sequence_of("000000000007.chunk"), Some(7));
        assert_eq!(sequence_of("1234567890123.chunk"), Some(1_234_567_890_123));
        for other in [
            "7.chunk",
            "0000000000007.chunk",
            "+00000000007.chunk",
            "000000000007",
            ".chunk",
        ] {
            assert_eq!(sequence_of(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn parts_are_safe_and_distinct(one in "\\PC{0,300}|[.%@/a]{0,400}", other in "[.%@/a]{0,5}") {
            let text = part(&one);
            let safe = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.%".contains(&byte);
            prop_assert!(!text.is_empty() && text.len() <= MAX_PART_BYTES);
            prop_assert!(text.bytes().all(safe) && !text.starts_with('.'));
            prop_assert!(sequence_of(&text).is_none());
            prop_assert_eq!(one == other, text == part(&other));
        }

        #[test]
        fn a_number_is_found_again(sequence: u64) {
            let key = chunk_key("a/b", sequence);
            prop_assert_eq!(sequence_of(key.rsplit('/').next().unwrap()), Some(sequence));
        }
    }
}
