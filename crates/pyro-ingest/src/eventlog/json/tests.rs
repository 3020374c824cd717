use super::*;
use proptest::prelude::*;
use serde_json::Value;

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1_000_000..1_000_000).prop_map(|quarters| Value::from(f64::from(quarters) / 4.0)),
        "\\PC{0,40}".prop_map(Value::from),
        "[\\\\\"{}\\[\\]\n\t\u{1}]{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 128, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::btree_map("\\PC{0,12}", inner, 0..8)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Reads a value by the cursor alone.
fn read(cursor: &mut Cursor<'_>) -> Read<Value> {
    cursor.white();
    Ok(match cursor.peek() {
        b'{' => {
            let mut map = serde_json::Map::new();
            cursor.object(|cursor, key| {
                let key = Text {
                    raw: key,
                    escaped: true,
                }
                .decode()
                .into_owned();
                map.insert(key, read(cursor)?);
                Ok(())
            })?;
            Value::Object(map)
        }
        b'[' => {
            let mut list = Vec::new();
            cursor.array(|cursor| {
                list.push(read(cursor)?);
                Ok(())
            })?;
            Value::Array(list)
        }
        b'"' => Value::from(cursor.string()?.decode()),
        b't' | b'f' => Value::from(cursor.boolean()?),
        b'n' if cursor.null() => Value::Null,
        _ => serde_json::from_slice(cursor.raw()?).map_err(|_| Malformed("not a number"))?,
    })
}

proptest! {
    #[test]
    fn values_read_as_serde_reads_them(value in any_value(), pretty in any::<bool>()) {
        let text = if pretty {
            serde_json::to_string_pretty(&value).unwrap().replace('\n', " ")
        } else {
            value.to_string()
        };
        let line = padded(text.as_bytes());
        let mut cursor = Cursor::new(&line, text.len());
        prop_assert_eq!(read(&mut cursor), Ok(value));
        prop_assert!(cursor.finished());
        let mut cursor = Cursor::new(&line, text.len());
        prop_assert_eq!(cursor.skip(), Ok(()));
        prop_assert_eq!(cursor.position(), text.len());
    }

    #[test]
    fn a_cut_container_is_bad(value in any_value(), cut in any::<prop::sample::Index>()) {
        let text = format!("[{value}]");
        let cut = cut.index(text.len());
        let line = padded(&text.as_bytes()[..cut]);
        prop_assert!(Cursor::new(&line, cut).skip().is_err());
        prop_assert!(read(&mut Cursor::new(&line, cut)).is_err());
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let line = padded(&bytes);
        let mut cursor = Cursor::new(&line, bytes.len());
        let _ = cursor.skip();
        prop_assert!(cursor.position() <= bytes.len());
        let _ = read(&mut Cursor::new(&line, bytes.len()));
        let _ = Text { raw: &bytes, escaped: true }.decode();
    }

    #[test]
    fn integers_read_whole(value in any::<i64>()) {
        let text = value.to_string();
        prop_assert_eq!(parse_integer(text.as_bytes()), Some(value));
        let line = padded(text.as_bytes());
        prop_assert_eq!(Cursor::new(&line, text.len()).integer(), Ok(value));
    }
}

#[test]
fn numbers_in_odd_dress() {
    for (text, expected) in [
        ("12.9", Some(12)),
        ("1e3", Some(1000)),
        ("-0", Some(0)),
        ("1e300", None),
        ("abc", None),
        ("", None),
    ] {
        assert_eq!(parse_integer(text.as_bytes()), expected, "{text}");
    }
    for (text, expected) in [
        ("\"7\"", Some(7)),
        ("7", Some(7)),
        ("[1,2]", None),
        ("null", None),
        ("\"x\"", None),
    ] {
        let line = padded(text.as_bytes());
        assert_eq!(
            Cursor::new(&line, text.len()).loose_integer(),
            Ok(expected),
            "{text}"
        );
    }
}

#[test]
fn surrogates_and_escapes_decode() {
    for (raw, expected) in [
        ("a\\n\\\"b\\\\", "a\n\"b\\"),
        ("\\ud83d\\ude00", "😀"),
        ("\\ud83dx", "\u{fffd}x"),
        ("\\u00e9", "é"),
        ("\\uZZ", "\u{fffd}ZZ"),
    ] {
        assert_eq!(
            Text {
                raw: raw.as_bytes(),
                escaped: true
            }
            .decode(),
            expected
        );
    }
    assert_eq!(
        Text {
            raw: b"\xff",
            escaped: false
        }
        .decode(),
        "\u{fffd}"
    );
}
