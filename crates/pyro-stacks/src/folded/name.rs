//! Names of frames in folded text: what they mean, and how frames are named there.
//!
//! Profilers write the same frame in many ways: `java/lang/Thread.run_[j]` (async-profiler),
//! `Ljava/lang/Thread;::run` (perf-map-agent), `java.lang.Thread.run` (JFR tools),
//! `libjvm.so!symbol`, `symbol_[k]` (FlameGraph's annotations).

use std::borrow::Cow;

use crate::frame::{FrameKind, java_class_name};

/// What a name says of its frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameName<'a> {
    /// Java class with dots, library of a native frame, or empty.
    pub place: Cow<'a, str>,
    /// Method or symbol.
    pub method: &'a str,
    /// Source line.
    pub line: Option<i32>,
    /// How it was run.
    pub kind: FrameKind,
}

/// What of a frame is written besides its name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NameStyle {
    /// `_[j]`, `_[1]`, `_[0]`, `_[i]` and `_[k]` behind the name: compiled, by C1, interpreted,
    /// inlined, kernel.
    pub annotate: bool,
    /// `:12` behind the method: the source line.
    pub lines: bool,
}

/// Annotations of FlameGraph and async-profiler.
const ANNOTATIONS: [(&str, FrameKind); 5] = [
    ("_[j]", FrameKind::C2),
    ("_[1]", FrameKind::C1),
    ("_[0]", FrameKind::Interpreted),
    ("_[i]", FrameKind::Inlined),
    ("_[k]", FrameKind::Kernel),
];

/// Name of what a profiler could not name.
const UNKNOWN: &str = "[unknown]";

/// What a name in folded text means.
pub fn frame_of(name: &str) -> FrameName<'_> {
    let (bare, annotated) = ANNOTATIONS
        .iter()
        .find_map(|(mark, kind)| Some((name.strip_suffix(mark)?, Some(*kind))))
        .unwrap_or((name, None));
    let native = |place, method, kind| FrameName {
        place: Cow::Borrowed(place),
        method,
        line: None,
        kind,
    };
    if annotated == Some(FrameKind::Kernel) {
        return native(
            "kernel",
            bare.strip_prefix("kernel!").unwrap_or(bare),
            FrameKind::Kernel,
        );
    }
    let (unlined, line) = without_line(bare);
    if let Some((place, method)) = java(unlined) {
        return FrameName {
            place,
            method,
            line,
            kind: annotated.unwrap_or(FrameKind::Unknown),
        };
    }
    match bare.split_once('!') {
        Some(("kernel", symbol)) => return native("kernel", symbol, FrameKind::Kernel),
        Some((library, symbol)) if is_library(library) && !symbol.is_empty() => {
            return native(library, symbol, native_kind(symbol));
        }
        _ => {}
    }
    if let Some(inside) = bare
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        && is_library(inside)
    {
        return native(inside, UNKNOWN, FrameKind::Native);
    }
    let kind = annotated.unwrap_or_else(|| match native_kind(bare) {
        FrameKind::Cpp => FrameKind::Cpp,
        _ => FrameKind::Unknown,
    });
    native("", bare, kind)
}

fn is_library(text: &str) -> bool {
    text.contains(".so") || text.ends_with(".dylib")
}

/// C++ or plain native, by the symbol.
pub(super) fn native_kind(symbol: &str) -> FrameKind {
    if symbol.contains("::") {
        FrameKind::Cpp
    } else {
        FrameKind::Native
    }
}

/// `method:12` → `method`, 12.
fn without_line(text: &str) -> (&str, Option<i32>) {
    let number = |digits: &str| digits.parse::<i32>().ok().filter(|&line| line > 0);
    match text.rsplit_once(':') {
        Some((head, digits))
            if digits.bytes().all(|b| b.is_ascii_digit()) && !head.ends_with(':') =>
        {
            number(digits).map_or((text, None), |line| (head, Some(line)))
        }
        _ => (text, None),
    }
}

/// Class and method, where a name has the shape of Java's.
pub(super) fn java(text: &str) -> Option<(Cow<'_, str>, &str)> {
    if text.contains([' ', '(', '*', '&', '!', ',', '"']) {
        return None;
    }
    // Descriptors: `Ljava/lang/Thread;::run`, and as FlameGraph rewrites them.
    for mark in [";::", ":::", ";:.", ":.", ";.", "::"] {
        if let Some((class, method)) = text.split_once(mark) {
            let class = class
                .strip_prefix('L')
                .filter(|_| class.contains('/'))
                .unwrap_or(class);
            let is_java = class.contains('/') && is_class(class, '/') && is_method(method);
            return is_java.then(|| (Cow::Owned(java_class_name(class)), method));
        }
    }
    // A hidden class's address may follow its name behind a slash, a dot or a plus.
    let (class, method) = text.rsplit_once('.')?;
    if !is_method(method) {
        return None;
    }
    if class.contains('/') {
        // Paths of Go's packages have slashes too, but no class at their end.
        let dotted = java_class_name(class);
        let simple = dotted.rsplit('.').next()?;
        let is_java = is_class(class, '/') && is_simple_class(simple);
        return is_java.then_some((Cow::Owned(dotted), method));
    }
    // Symbols such as `memcpy.part.0` have dots too: a class begins with a capital.
    let simple = class.rsplit('.').next()?;
    let is_java =
        is_class(class, '.') && simple.starts_with(|c: char| c.is_uppercase() || c == '$');
    is_java.then_some((Cow::Borrowed(class), method))
}

/// Whether a name without package is a class by custom: a capital in front, or Scala's `package$`.
fn is_simple_class(text: &str) -> bool {
    text.starts_with(char::is_uppercase) || text.contains('$')
}

fn is_identifier(text: &str) -> bool {
    let tail = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '+' | '-');
    text.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$'))
        && text.chars().all(tail)
}

fn is_class(text: &str, separator: char) -> bool {
    text.split(separator).enumerate().all(|(at, part)| {
        is_identifier(part)
            || (at > 0 && part.starts_with("0x"))
            // Lambdas and hidden classes: `Foo$$Lambda$12.0x00007f`.
            || part.split('.').all(|part| is_identifier(part) || part.starts_with("0x"))
    })
}

fn is_method(text: &str) -> bool {
    text == "<init>" || text == "<clinit>" || is_identifier(text)
}

/// Appends the name of a frame as [`frame_of`] reads it.
pub fn write_name(frame: &FrameName<'_>, style: NameStyle, out: &mut Vec<u8>) {
    let start = out.len();
    let is_native = frame.kind.is_native();
    if !is_native && !frame.place.is_empty() {
        out.extend_from_slice(frame.place.as_bytes());
        out.push(b'.');
    }
    if is_native && !frame.place.is_empty() && matches!(frame.method, "" | UNKNOWN | "unknown") {
        out.extend_from_slice(format!("[{}]", frame.place).as_bytes());
    } else if frame.method.is_empty() {
        out.extend_from_slice(UNKNOWN.as_bytes());
    } else {
        out.extend_from_slice(frame.method.as_bytes());
    }
    clean(&mut out[start..]);
    if let Some(line) = frame.line.filter(|_| style.lines && !is_native) {
        out.extend_from_slice(format!(":{line}").as_bytes());
    }
    let mark = ANNOTATIONS.iter().find(|(_, kind)| *kind == frame.kind);
    if let Some((mark, _)) = mark.filter(|_| style.annotate) {
        out.extend_from_slice(mark.as_bytes());
    }
}

/// Replaces what would end a frame or a line.
pub fn clean(name: &mut [u8]) {
    for byte in name {
        match byte {
            b';' => *byte = b':',
            b'\n' | b'\r' => *byte = b' ',
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(name: &str) -> (String, String, Option<i32>, &'static str) {
        let FrameName {
            place,
            method,
            line,
            kind,
        } = frame_of(name);
        (place.into_owned(), method.to_owned(), line, kind.name())
    }

    #[test]
    fn java_in_all_spellings() {
        for name in [
            "java.lang.Thread.run_[j]",
            "java/lang/Thread.run_[j]",
            "Ljava/lang/Thread;::run_[j]",
            "java/lang/Thread:.run_[j]",
            "Ljava/lang/Thread:::run_[j]",
        ] {
            let expected = ("java.lang.Thread".into(), "run".into(), None, "c2");
            assert_eq!(parsed(name), expected, "{name}");
        }
        assert_eq!(parsed("a.B$$Lambda$12/0x00007f.apply_[0]").0, "a.B$$Lambda");
        assert_eq!(
            parsed("Main.main:12"),
            ("Main".into(), "main".into(), Some(12), "unknown")
        );
        assert_eq!(
            parsed("a.b.C.<init>_[i]"),
            ("a.b.C".into(), "<init>".into(), None, "inlined")
        );
        assert_eq!(parsed("org.x.package$.$anonfun$f$1_[1]").3, "c1");
    }

    #[test]
    fn what_is_not_java() {
        let unknown = |name: &str| (String::new(), name.to_owned(), None, "unknown");
        for name in [
            "main",
            "memcpy.part.0",
            "runtime.mallocgc",
            "github.com/owner/project.function",
            "net/http.Get",
            "[stage 5]",
            "f (a.py:12)",
            "[unknown]",
            "",
            "é;",
        ] {
            assert_eq!(parsed(name), unknown(name));
        }
        assert_eq!(
            parsed("do_syscall_64_[k]"),
            ("kernel".into(), "do_syscall_64".into(), None, "kernel")
        );
        assert_eq!(
            parsed("libjvm.so!JVM_Sleep"),
            ("libjvm.so".into(), "JVM_Sleep".into(), None, "native")
        );
        assert_eq!(parsed("std::vector<int>::push_back").3, "cpp");
        assert_eq!(
            parsed("[libc.so.6]"),
            ("libc.so.6".into(), "[unknown]".into(), None, "native")
        );
    }

    #[test]
    fn names_are_written_as_they_are_read() {
        let style = NameStyle {
            annotate: true,
            lines: true,
        };
        for name in [
            "a.b.C.run_[j]",
            "Main.main:12_[0]",
            "memcpy",
            "do_fork_[k]",
            "[libc.so.6]",
            "[unknown]",
        ] {
            let mut out = Vec::new();
            write_name(&frame_of(name), style, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), name);
        }
        let mut out = Vec::new();
        let frame = FrameName {
            place: "".into(),
            method: "a;b\nc",
            line: Some(3),
            kind: FrameKind::Native,
        };
        write_name(&frame, style, &mut out);
        assert_eq!(out, b"a:b c");
    }
}
