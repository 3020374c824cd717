//! `/proc/PID/maps`: which file lies where.

/// A stretch of memory that a file is mapped to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping<'a> {
    /// First address.
    pub start: u64,
    /// Behind the last.
    pub end: u64,
    /// Whether code in it may run.
    pub executable: bool,
    /// Where in the file it begins.
    pub offset: u64,
    /// The file, as the process names it.
    pub path: &'a str,
}

/// Parses the lines that name a file; others, and what is no such line, are passed over.
pub fn files(text: &str) -> impl Iterator<Item = Mapping<'_>> {
    text.lines().filter_map(mapping)
}

fn mapping(line: &str) -> Option<Mapping<'_>> {
    let mut rest = line;
    let mut field = || {
        let (word, tail) = rest.split_once(' ')?;
        rest = tail.trim_start_matches(' ');
        Some(word)
    };
    let (start, end) = field()?.split_once('-')?;
    let (permissions, offset) = (field()?, field()?);
    let (_device, _inode) = (field()?, field()?);
    let hex = |digits| u64::from_str_radix(digits, 16).ok();
    let (start, end) = (hex(start)?, hex(end)?);
    (rest.starts_with('/') && start < end).then_some(Mapping {
        start,
        end,
        executable: permissions.contains('x'),
        offset: hex(offset)?,
        path: rest,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "\
55d0c8a00000-55d0c8b00000 r--p 00000000 fe:00 1234                       /usr/bin/my program
55d0c8b00000-55d0c8c00000 r-xp 00100000 fe:00 1234                       /usr/bin/my program
7ffc0a000000-7ffc0a021000 rw-p 00000000 00:00 0                          [stack]
7f0000000000-7f0000001000 rw-p 00000000 00:00 0 
7f0000002000-7f0000003000 r--s 00001000 fe:00 99                         /tmp/gone (deleted)
7f0000005000-7f0000004000 r--s 00001000 fe:00 99                         /tmp/backwards
";

    #[test]
    fn files_with_their_places() {
        let found: Vec<_> = files(TEXT).collect();
        let paths: Vec<_> = found.iter().map(|mapping| mapping.path).collect();
        assert_eq!(
            paths,
            [
                "/usr/bin/my program",
                "/usr/bin/my program",
                "/tmp/gone (deleted)"
            ]
        );
        assert_eq!(
            (
                found[1].start,
                found[1].end,
                found[1].offset,
                found[1].executable
            ),
            (0x55d0_c8b0_0000, 0x55d0_c8c0_0000, 0x10_0000, true)
        );
        assert!(!found[0].executable);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC*|[0-9a-fx \\-rwp/:\n]{0,200}") {
            for mapping in files(&text) {
                prop_assert!(mapping.start < mapping.end && mapping.path.starts_with('/'));
            }
        }
    }
}
