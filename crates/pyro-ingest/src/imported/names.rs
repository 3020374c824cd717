//! Names of frames and of units, as profiles of other tools have them.

use std::borrow::Cow;
use std::path::Path;

use pyro_stacks::FrameKind;
use pyro_stacks::folded::{FrameName, frame_of};

/// Frame given by the name of a function, the library it lies in (or empty) and a source line
/// (0: unknown). In a library it is native code, unless the name has the shape of Java's.
pub fn frame_in<'a>(name: &'a str, library: &'a str, line: i64) -> FrameName<'a> {
    let mut frame = frame_of(name);
    let is_java = !frame.kind.is_native() && !frame.place.is_empty();
    if !is_java && !library.is_empty() {
        frame = FrameName {
            place: Cow::Borrowed(library),
            method: name,
            line: None,
            kind: match library {
                "kernel" | "[kernel.kallsyms]" | "[kernel]" => FrameKind::Kernel,
                _ if name.contains("::") => FrameKind::Cpp,
                _ => FrameKind::Native,
            },
        };
    }
    frame.line = i32::try_from(line)
        .ok()
        .filter(|&line| line > 0)
        .or(frame.line);
    frame
}

/// The last part of a path, as profiles name libraries.
pub fn base_name(path: &str) -> &str {
    Path::new(path)
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or(path)
}

/// Unit as table samples names it, and how many of it one of the source's is.
pub fn unit(of_source: &str) -> (&str, i64) {
    match of_source {
        "nanoseconds" | "nanosecond" | "ns" => ("ns", 1),
        "microseconds" | "microsecond" | "us" | "µs" => ("ns", 1_000),
        "milliseconds" | "millisecond" | "ms" => ("ns", 1_000_000),
        "seconds" | "second" | "s" => ("ns", 1_000_000_000),
        "bytes" | "byte" | "B" => ("bytes", 1),
        "" | "none" | "count" => ("count", 1),
        other => (other, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn java_is_recognised_by_names() {
        let short = |name, library| {
            let frame = frame_in(name, library, 0);
            (
                frame.place.into_owned(),
                frame.method.to_owned(),
                frame.kind.name(),
            )
        };
        let frame = |a: &str, b: &str, c| (a.to_owned(), b.to_owned(), c);
        assert_eq!(
            short("java/lang/Thread.run", ""),
            frame("java.lang.Thread", "run", "unknown")
        );
        assert_eq!(
            short("org.x.Y.z", "anything"),
            frame("org.x.Y", "z", "unknown")
        );
        assert_eq!(
            short("github.com/o/p.Func", ""),
            frame("", "github.com/o/p.Func", "unknown")
        );
        assert_eq!(
            short("runtime.mallocgc", "server"),
            frame("server", "runtime.mallocgc", "native")
        );
        assert_eq!(
            short("JVM_Sleep", "libjvm.so"),
            frame("libjvm.so", "JVM_Sleep", "native")
        );
        assert_eq!(
            short("do_syscall_64", "[kernel.kallsyms]"),
            frame("[kernel.kallsyms]", "do_syscall_64", "kernel")
        );
    }
}
