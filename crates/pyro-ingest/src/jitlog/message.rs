//! The messages of the JIT compilers, as unified logging has them (JDK 10 and later).

/// What a message says. Borrowed from the line.
#[derive(Debug, PartialEq)]
pub enum Message<'a> {
    /// A compilation begins (tags `jit,compilation`).
    Begin(Task<'a>),
    /// Code was given up; the reason where the JVM logs it (JDK 24 and later).
    Invalidated(Task<'a>, Option<&'a str>),
    /// The compilation of this thread came to nothing.
    Skipped,
    /// The code of this thread's compilation is in place (tags `nmethod,install`).
    Installed,
    /// A thread ran into an uncommon trap (tag `deoptimization`, JDK 18 and later).
    Trap(Trap<'a>),
    /// There was no room for code.
    CacheFull,
    /// A line of a compilation that is not whole.
    Broken,
    /// Anything else.
    Other,
}

/// A compilation, as it was printed.
#[derive(Debug, PartialEq)]
pub struct Task<'a> {
    /// The JVM's number.
    pub id: i64,
    /// For a loop that was running.
    pub osr: bool,
    /// Tier, 1 to 4; absent without tiers.
    pub level: Option<i32>,
    /// `Class::method`; absent where the class was unloaded.
    pub method: Option<&'a str>,
    /// Size of the bytecode.
    pub bytecode_bytes: Option<i64>,
}

/// An uncommon trap.
#[derive(Debug, Default, PartialEq)]
pub struct Trap<'a> {
    /// Number of the compilation.
    pub id: Option<i64>,
    /// Code for a loop that was running.
    pub osr: bool,
    /// Tier.
    pub level: Option<i32>,
    /// `Class.method`.
    pub method: Option<&'a str>,
    /// Why.
    pub reason: Option<&'a str>,
    /// What was done about it.
    pub action: Option<&'a str>,
}

/// Reads a message, which is what follows the decorations.
pub fn parse(text: &str) -> Message<'_> {
    if text.starts_with("Installing ") && text.contains("method (") {
        return Message::Installed;
    }
    if let Some(rest) = text.strip_prefix("cid=") {
        return Message::Trap(trap(rest));
    }
    if text.contains("is full. Compiler has been disabled") {
        return Message::CacheFull;
    }
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return compilation(text).unwrap_or(Message::Broken);
    }
    Message::Other
}

/// `30 %     3       T::main @ 43 (134 bytes)   made not entrant`: number, five columns of
/// flags, tier, method, loop, size, and what became of it (HotSpot's `CompileTask::print`).
fn compilation(text: &str) -> Option<Message<'_>> {
    let (id, rest) = text.split_once(' ')?;
    let id = id.parse().ok()?;
    let flags = rest.get(..5)?;
    if !flags.bytes().all(|flag| b" %s!bn".contains(&flag)) {
        return None;
    }
    let rest = rest.get(6..)?;
    let (level, rest) = match rest.as_bytes() {
        [digit @ b'0'..=b'4', b' ', ..] => (Some(i32::from(digit - b'0')), &rest[1..]),
        [b'-', b' ', ..] => (None, &rest[1..]),
        _ => (None, rest),
    };
    let rest = rest.trim_start();
    let (name, rest) = match rest.strip_prefix("(method)") {
        Some(rest) => (None, rest),
        None => {
            let (name, rest) = rest.split_once(" (")?;
            (Some(name.split(" @ ").next().unwrap_or(name)), rest)
        }
    };
    let (size, said) = match name {
        Some(_) => rest.split_once(')')?,
        None => ("", rest),
    };
    if flags.contains('n') || level == Some(0) {
        return Some(Message::Other); // a wrapper of a native method
    }
    let task = Task {
        id,
        osr: flags.contains('%'),
        level,
        method: name,
        bytecode_bytes: size.strip_suffix(" bytes").and_then(|n| n.parse().ok()),
    };
    let said = said.trim();
    Some(if said.is_empty() {
        Message::Begin(task)
    } else if let Some(reason) = said.strip_prefix("made not entrant") {
        let reason = reason.strip_prefix(':').map(str::trim);
        Message::Invalidated(task, reason.filter(|reason| !reason.is_empty()))
    } else if said.starts_with("COMPILE SKIPPED") {
        Message::Skipped
    } else {
        Message::Other
    })
}

/// `  39 osr level=4 T.main([Ljava/lang/String;)V trap_bci=56 osr_bci=43 unstable_if reinterpret
/// pc=0x… relative_pc=0x…`.
fn trap(rest: &str) -> Trap<'_> {
    let mut found = Trap::default();
    let mut words = rest.split_whitespace();
    found.id = words.next().and_then(|id| id.parse().ok());
    for word in words {
        if word == "osr" {
            found.osr = true;
        } else if let Some(level) = word.strip_prefix("level=") {
            found.level = level.parse().ok();
        } else if word.contains('=') {
            continue;
        } else if found.method.is_none() {
            found.method = word.split('(').next();
        } else if found.reason.is_none() {
            found.reason = Some(word);
        } else if found.action.is_none() {
            found.action = Some(word);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilations_as_jdk_17_prints_them() {
        let task = |id, osr, level, method, bytes| Task {
            id,
            osr,
            level: Some(level),
            method: Some(method),
            bytecode_bytes: Some(bytes),
        };
        assert_eq!(
            parse("2       3       java.lang.String::hashCode (60 bytes)"),
            Message::Begin(task(2, false, 3, "java.lang.String::hashCode", 60))
        );
        assert_eq!(
            parse("10030 %  b  4       T::main @ 43 (134 bytes)"),
            Message::Begin(task(10_030, true, 4, "T::main", 134))
        );
        assert_eq!(
            parse(
                "28       3       T$$Lambda$1/0x00007fc190000400::f (5 bytes)   made not entrant"
            ),
            Message::Invalidated(
                task(28, false, 3, "T$$Lambda$1/0x00007fc190000400::f", 5),
                None
            )
        );
        assert_eq!(
            parse(
                "37 %     3       T::main @ 43 (134 bytes)   made not entrant: OSR invalidation of lower level"
            ),
            Message::Invalidated(
                task(37, true, 3, "T::main", 134),
                Some("OSR invalidation of lower level")
            )
        );
        assert_eq!(
            parse(
                "18       4       java.lang.String::charAt (25 bytes)   COMPILE SKIPPED: out of nodes"
            ),
            Message::Skipped
        );
        assert_eq!(
            parse("5     n 0       java.lang.Object::hashCode (native)   (static)"),
            Message::Other
        );
        assert_eq!(
            parse("7       4       (method)   made zombie"),
            Message::Other
        );
    }

    #[test]
    fn cut_lines_are_told() {
        for text in [
            "2",
            "2       3",
            "2       3       java.lang.Str",
            "2 ?     3       a::b (1 bytes)",
        ] {
            assert_eq!(parse(text), Message::Broken, "{text}");
        }
    }

    #[test]
    fn traps_installations_and_a_full_cache() {
        let line = "cid=  39 osr level=4 T.main([Ljava/lang/String;)V trap_bci=56 osr_bci=43 unstable_if reinterpret pc=0x00007f relative_pc=0x01";
        let expected = Trap {
            id: Some(39),
            osr: true,
            level: Some(4),
            method: Some("T.main"),
            reason: Some("unstable_if"),
            action: Some("reinterpret"),
        };
        assert_eq!(parse(line), Message::Trap(expected));
        for text in [
            "Installing method (3) java.lang.Object.<init>()V",
            "Installing osr method (4) T.main([Ljava/lang/String;)V @ 43",
        ] {
            assert_eq!(parse(text), Message::Installed);
        }
        assert_eq!(
            parse("CodeHeap 'profiled nmethods' is full. Compiler has been disabled."),
            Message::CacheFull
        );
    }
}
