//! A frame of a stack.

use std::borrow::Cow;

/// How the code of a frame was run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FrameKind {
    /// Java, interpreted.
    Interpreted,
    /// Java, compiled by C1.
    C1,
    /// Java, compiled by C2, or by a compiler that the recording does not name.
    C2,
    /// Java, inlined into its caller.
    Inlined,
    /// C or assembler.
    Native,
    /// Kernel.
    Kernel,
    /// C++.
    Cpp,
    /// Not said.
    Unknown,
}

impl FrameKind {
    /// All kinds.
    pub const ALL: [Self; 8] = [
        Self::Interpreted,
        Self::C1,
        Self::C2,
        Self::Inlined,
        Self::Native,
        Self::Cpp,
        Self::Kernel,
        Self::Unknown,
    ];

    /// The kind that a recording describes so.
    pub fn from_description(text: &str) -> Self {
        match text {
            "Interpreted" => Self::Interpreted,
            "C1 compiled" => Self::C1,
            "JIT compiled" => Self::C2,
            "Inlined" => Self::Inlined,
            "Native" => Self::Native,
            "Kernel" => Self::Kernel,
            "C++" => Self::Cpp,
            _ => Self::Unknown,
        }
    }

    /// Name in table frames.
    pub fn name(self) -> &'static str {
        match self {
            Self::Interpreted => "interpreted",
            Self::C1 => "c1",
            Self::C2 => "c2",
            Self::Inlined => "inlined",
            Self::Native => "native",
            Self::Kernel => "kernel",
            Self::Cpp => "cpp",
            Self::Unknown => "unknown",
        }
    }

    /// The kind with this name in table frames.
    pub fn from_name(name: &str) -> Self {
        let known = Self::ALL.into_iter().find(|kind| kind.name() == name);
        known.unwrap_or(Self::Unknown)
    }

    /// Whether the frame is outside Java.
    pub fn is_native(self) -> bool {
        matches!(self, Self::Native | Self::Kernel | Self::Cpp)
    }

    /// The kind that stands for all those whose frames have the same text.
    pub fn of_text(self) -> Self {
        match self {
            Self::Kernel => Self::Kernel,
            kind if kind.is_native() => Self::Native,
            _ => Self::Unknown,
        }
    }
}

/// A frame by its names.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// Java class with dots; the library of a native frame (`libjvm.so`, `kernel`); or empty.
    pub place: &'a str,
    /// Method or symbol.
    pub method: &'a str,
    /// How it was run.
    pub kind: FrameKind,
}

impl Frame<'_> {
    /// The text that patterns match: `package.Class.method`, `library!symbol`, `kernel!symbol`.
    pub fn text(&self) -> String {
        match self.kind {
            FrameKind::Kernel => format!("kernel!{}", self.method),
            kind if kind.is_native() => format!("{}!{}", self.place, self.method),
            _ => format!("{}.{}", self.place, self.method),
        }
    }
}

/// A class name with dots, without what differs from run to run: the address behind a hidden
/// class's name and the number of a lambda.
pub fn java_class_name(internal: &str) -> String {
    let address = |name: &&str| {
        let hidden = internal[name.len()..]
            .strip_prefix(['/', '.', '+'])
            .and_then(|rest| rest.strip_prefix("0x"));
        hidden.is_some_and(|hex| !hex.is_empty() && hex.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    let name = internal
        .rfind("0x")
        .and_then(|at| internal.get(..at.checked_sub(1)?))
        .filter(address);
    let text = name.unwrap_or(internal);
    let text = match text.split_once("$$Lambda$") {
        Some((owner, number)) if number.bytes().all(|b| b.is_ascii_digit()) => {
            Cow::Owned(format!("{owner}$$Lambda"))
        }
        _ => Cow::Borrowed(text),
    };
    text.replace('/', ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_names_are_stable_between_runs() {
        assert_eq!(java_class_name("java/lang/Thread"), "java.lang.Thread");
        assert_eq!(java_class_name("a/B$$Lambda$12/0x00007f5c"), "a.B$$Lambda");
        assert_eq!(java_class_name("a/B$$Lambda/0x00007f5c"), "a.B$$Lambda");
        assert_eq!(
            java_class_name("a/B$$Lambda$3782.0x00007f2e1d1933b8"),
            "a.B$$Lambda"
        );
        assert_eq!(java_class_name("a/B+0x12"), "a.B");
        assert_eq!(java_class_name("a/Hex0x12"), "a.Hex0x12");
        assert_eq!(java_class_name("é0x"), "é0x");
        assert_eq!(java_class_name("0x12"), "0x12");
        assert_eq!(java_class_name("a/B$$Lambda$12x"), "a.B$$Lambda$12x");
    }
}
