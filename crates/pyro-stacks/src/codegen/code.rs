//! Lines of generated Java, as far as their meaning hangs on names and braces.

/// A name as Spark generates it: `<prefix>_<base>_<number>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name<'a> {
    /// All of it.
    pub full: &'a str,
    /// Of the operator whose code was generated when the name was.
    pub prefix: &'a str,
    /// What it is for.
    pub base: &'a str,
    /// Counts up by prefix and base.
    pub number: u32,
    /// Byte at which it begins in the line.
    pub at: usize,
}

impl<'a> Name<'a> {
    fn parse(word: &'a str, at: usize) -> Option<Self> {
        let (head, number) = word.rsplit_once('_')?;
        let (prefix, base) = head.split_once('_')?;
        let number = number.parse().ok()?;
        (!prefix.is_empty() && !base.is_empty()).then_some(Self {
            full: word,
            prefix,
            base,
            number,
            at,
        })
    }

    /// Whether the prefix belongs to no operator: such names are created or shared out of order.
    pub fn misleads(&self) -> bool {
        matches!(self.base, "mutableStateArray" | "beforeAgg" | "c")
    }
}

/// A line without its comments, strings and characters; these are blank, so that places stay.
pub fn blanked(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            quote @ (b'"' | b'\'') => {
                let mut end = at + 1;
                while end < bytes.len() && bytes[end] != quote {
                    end += 1 + usize::from(bytes[end] == b'\\');
                }
                (end + 1).min(bytes.len())
            }
            b'/' if bytes[at..].starts_with(b"//") => bytes.len(),
            b'/' if bytes[at..].starts_with(b"/*") => text[at + 2..]
                .find("*/")
                .map_or(bytes.len(), |length| at + length + 4),
            byte => {
                out.push(if byte.is_ascii() { byte } else { b' ' });
                at += 1;
                continue;
            }
        };
        out.resize(end, b' ');
        at = end;
    }
    String::from_utf8(out).unwrap_or_default()
}

/// Words of a blanked line and where they begin.
pub fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + line[at..].find(part)?;
        let length = line[start..].find(|c| !part(c));
        at = length.map_or(line.len(), |length| start + length);
        Some((start, &line[start..at]))
    })
}

/// Names that Spark generated, in a blanked line.
pub fn names(line: &str) -> impl Iterator<Item = Name<'_>> {
    words(line).filter_map(|(at, word)| Name::parse(word, at))
}

/// Words that an opening parenthesis follows.
pub fn called(line: &str) -> impl Iterator<Item = &str> {
    words(line)
        .filter(|(at, word)| line[at + word.len()..].trim_start().starts_with('('))
        .map(|(_, word)| word)
}

/// Whether a statement goes on in the next line.
pub fn goes_on(line: &str) -> bool {
    !matches!(
        line.trim_end().chars().last(),
        None | Some(';' | '{' | '}' | ':')
    )
}

/// The name that a line declares or assigns.
pub fn assigned(line: &str) -> Option<Name<'_>> {
    let name = names(line).next()?;
    if line[..name.at].contains(['(', '=', '.', '?', '{']) {
        return None;
    }
    let mut rest = line[name.at + name.full.len()..].trim_start();
    if rest.starts_with('[') {
        rest = rest.split_once(']')?.1.trim_start();
    }
    let sets = rest.starts_with(';') || (rest.starts_with('=') && !rest.starts_with("=="));
    sets.then_some(name)
}
