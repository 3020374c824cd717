use super::*;

fn raw(text: &str) -> Option<(String, String, bool)> {
    let text = text.as_bytes();
    let frame = parse(text).or_else(|| parse_without_address(text))?;
    let utf8 = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some((utf8(frame.symbol), utf8(frame.object), frame.inlined))
}

#[test]
fn frames_of_many_layouts() {
    for (text, symbol, object, inlined) in [
        ("7f12 main+0x1c (/bin/x)", "main", "/bin/x", false),
        (
            "7f12 f(int, g(*)())+0xff (/lib/a b.so (deleted))",
            "f(int, g(*)())",
            "/lib/a b.so (deleted)",
            false,
        ),
        (
            "ffffffff8104f45a native_write_msr ([kernel.kallsyms])",
            "native_write_msr",
            "[kernel.kallsyms]",
            false,
        ),
        ("1234 std::move<int> (inlined)", "std::move<int>", "", true),
        ("7f12 operator()", "operator()", "", false),
        (
            "7f12 [unknown] ([unknown])",
            "[unknown]",
            "[unknown]",
            false,
        ),
        ("7f12 (/bin/x)", "7f12", "/bin/x", false),
        ("7f1200000000 (/bin/x)", "[unknown]", "/bin/x", false),
        ("7f12", "[unknown]", "", false),
        ("add (libx.so)", "add", "libx.so", false),
        ("main (/bin/x)", "main", "/bin/x", false),
        ("7f12 a+0xzz (x)", "a+0xzz", "x", false),
    ] {
        let expected = (symbol.to_owned(), object.to_owned(), inlined);
        assert_eq!(raw(text), Some(expected), "{text}");
    }
    for text in [
        "main.c:12",
        "0x12/0x13/P/-/-/0",
        "file.c",
        "12345678901234567 x",
        "(x)",
    ] {
        assert_eq!(raw(text), None, "{text}");
    }
}

fn frames(text: &str) -> Vec<(String, String, &'static str)> {
    let mut symbols = Symbols::default();
    let number = symbols.number(&parse(text.as_bytes()).unwrap());
    let frames = symbols.get(number);
    let frames = frames.frames();
    frames
        .iter()
        .map(|frame| {
            (
                frame.place.clone().into_owned(),
                frame.method.to_owned(),
                frame.kind.name(),
            )
        })
        .collect()
}

#[test]
fn objects_give_the_kind() {
    let one = |place: &str, method: &str, kind| vec![(place.to_owned(), method.to_owned(), kind)];
    assert_eq!(
        frames("1 f ([kernel.kallsyms])"),
        one("kernel", "f", "kernel")
    );
    assert_eq!(frames("1 f ([nf_tables])"), one("kernel", "f", "kernel"));
    assert_eq!(
        frames("1 f (/lib/modules/x.ko.zst)"),
        one("kernel", "f", "kernel")
    );
    assert_eq!(frames("1 f ([vdso])"), one("[vdso]", "f", "native"));
    assert_eq!(
        frames("1 f (/a/libz.so.1 (deleted))"),
        one("libz.so.1", "f", "native")
    );
    assert_eq!(frames("1 a::f (/a/libz.so)"), one("libz.so", "a::f", "cpp"));
    assert_eq!(
        frames("1 [unknown] ([unknown])"),
        one("", "[unknown]", "unknown")
    );
}

#[test]
fn maps_of_compiled_java() {
    let run = |kind| ("java.lang.Thread".to_owned(), "run".to_owned(), kind);
    for name in [
        "Ljava/lang/Thread;::run",
        "void java.lang.Thread.run()",
        "java/lang/Thread.run",
    ] {
        assert_eq!(
            frames(&format!("1 {name}+0x1 (/tmp/perf-1.map)")),
            [run("c2")],
            "{name}"
        );
    }
    let nested = frames("1 La/B;::c->Ljava/lang/Thread;::run (/tmp/perf-1.map)");
    assert_eq!(
        nested,
        [("a.B".to_owned(), "c".to_owned(), "c2"), run("inlined")]
    );
    assert_eq!(
        frames("1 Interpreter (/tmp/perf-1.map)")[0].2,
        "interpreted"
    );
    assert_eq!(
        frames("1 py::f:/a.py (/tmp/perf-1.map)")[0].1,
        "py::f:/a.py"
    );
}
