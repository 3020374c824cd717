//! Sizes as HotSpot prints them.

/// `24M` as bytes.
pub fn size(text: &str) -> Option<i64> {
    let unit = match text.as_bytes().last()? {
        b'B' => 1,
        b'K' => 1 << 10,
        b'M' => 1 << 20,
        b'G' => 1 << 30,
        b'T' => 1_i64 << 40,
        _ => return None,
    };
    text[..text.len() - 1]
        .parse::<u32>()
        .ok()
        .and_then(|n| i64::from(n).checked_mul(unit))
}
