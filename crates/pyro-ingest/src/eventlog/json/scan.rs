//! Finding the end of strings and containers, 16 or 64 bytes at a time.

use super::padding::PAD;

/// Bits of the bytes of a block of 64 that are `"`, `\`, an opening and a closing bracket.
struct Masks {
    quote: u64,
    backslash: u64,
    open: u64,
    close: u64,
}

/// Where the string that starts at `at` (behind its quote) ends: the position of its closing
/// quote, and whether it holds a backslash. `None` if it does not end before `end`.
#[inline(always)]
pub fn string_end(buf: &[u8], start: usize, end: usize) -> Option<(usize, bool)> {
    // Most strings are keys, names and numbers.
    let mut at = start;
    for _ in 0..4 {
        if at >= end {
            return None;
        }
        // `at + 16 <= end + PAD <= buf.len()`.
        let mask = stops(buf[at..at + 16].try_into().expect("16 bytes"));
        if mask != 0 {
            let stop = at + mask.trailing_zeros() as usize;
            if buf[stop] == b'"' {
                return (stop < end).then_some((stop, false));
            }
            return long_string_end(buf, stop, end);
        }
        at += 16;
    }
    long_string_end(buf, at, end)
}

/// Bits of the bytes that are `"` or `\`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn stops(block: &[u8; 16]) -> u32 {
    use std::arch::x86_64::*;
    // SAFETY: SSE2 is part of x86_64; the load is of 16 bytes that are there.
    unsafe {
        let bytes = _mm_loadu_si128(block.as_ptr().cast());
        let quotes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'"' as i8));
        let backslashes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\\' as i8));
        _mm_movemask_epi8(_mm_or_si128(quotes, backslashes)) as u32
    }
}

/// Bits of the bytes that are `"` or `\`.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn stops(block: &[u8; 16]) -> u32 {
    bits(block, |byte| byte == b'"' || byte == b'\\') as u32
}

#[cfg(any(not(target_arch = "x86_64"), test))]
fn bits(block: &[u8], is: impl Fn(u8) -> bool) -> u64 {
    block
        .iter()
        .enumerate()
        .fold(0, |mask, (i, &byte)| mask | u64::from(is(byte)) << i)
}

#[cfg(any(not(target_arch = "x86_64"), test))]
fn portable_masks(block: &[u8; PAD]) -> Masks {
    Masks {
        quote: bits(block, |byte| byte == b'"'),
        backslash: bits(block, |byte| byte == b'\\'),
        open: bits(block, |byte| byte | 0x20 == b'{'),
        close: bits(block, |byte| byte | 0x20 == b'}'),
    }
}

/// Position behind the container that opens at `at`, or `None` if it does not close before `end`.
///
/// `buf` must go on for [`PAD`] bytes behind `end`.
#[cfg(target_arch = "x86_64")]
pub fn container_end(buf: &[u8], at: usize, end: usize) -> Option<usize> {
    if is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("popcnt")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("pclmulqdq")
    {
        // SAFETY: the processor has what the function needs.
        unsafe { container_end_avx2(buf, at, end) }
    } else {
        walk(buf, at, end, sse2_masks, prefix_xor)
    }
}

/// Position behind the container that opens at `at`, or `None` if it does not close before `end`.
#[cfg(not(target_arch = "x86_64"))]
pub fn container_end(buf: &[u8], at: usize, end: usize) -> Option<usize> {
    walk(buf, at, end, portable_masks, prefix_xor)
}

/// The end of a string, as [`string_end`] gives it, a block at a time.
#[cfg(target_arch = "x86_64")]
fn long_string_end(buf: &[u8], at: usize, end: usize) -> Option<(usize, bool)> {
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") {
        // SAFETY: the processor has what the function needs.
        unsafe { long_string_end_avx2(buf, at, end) }
    } else {
        walk_string(buf, at, end, |block| {
            let masks = sse2_masks(block);
            (masks.quote, masks.backslash)
        })
    }
}

/// The end of a string, as [`string_end`] gives it, a block at a time.
#[cfg(not(target_arch = "x86_64"))]
fn long_string_end(buf: &[u8], at: usize, end: usize) -> Option<(usize, bool)> {
    walk_string(buf, at, end, |block| {
        let masks = portable_masks(block);
        (masks.quote, masks.backslash)
    })
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1")]
fn long_string_end_avx2(buf: &[u8], at: usize, end: usize) -> Option<(usize, bool)> {
    use std::arch::x86_64::*;
    walk_string(
        buf,
        at,
        end,
        #[inline(always)]
        |block: &[u8; PAD]| {
            // SAFETY: both loads lie in the 64 bytes; AVX2 is there.
            let (low, high) = unsafe {
                (
                    _mm256_loadu_si256(block.as_ptr().cast()),
                    _mm256_loadu_si256(block.as_ptr().add(32).cast()),
                )
            };
            let mask = |byte: u8| {
                let wanted = _mm256_set1_epi8(byte as i8);
                let half =
                    |half| u64::from(_mm256_movemask_epi8(_mm256_cmpeq_epi8(half, wanted)) as u32);
                half(low) | half(high) << 32
            };
            (mask(b'"'), mask(b'\\'))
        },
    )
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt,bmi1,pclmulqdq")]
fn container_end_avx2(buf: &[u8], at: usize, end: usize) -> Option<usize> {
    use std::arch::x86_64::*;
    walk(
        buf,
        at,
        end,
        #[inline(always)]
        |block: &[u8; PAD]| {
            // SAFETY: both loads lie in the 64 bytes; AVX2 is there.
            unsafe {
                let halves = [
                    _mm256_loadu_si256(block.as_ptr().cast()),
                    _mm256_loadu_si256(block.as_ptr().add(32).cast()),
                ];
                let mask = |half: __m256i, byte: u8| {
                    u64::from(_mm256_movemask_epi8(_mm256_cmpeq_epi8(
                        half,
                        _mm256_set1_epi8(byte as i8),
                    )) as u32)
                };
                let both = |a: __m256i, b: __m256i, byte: u8| mask(a, byte) | mask(b, byte) << 32;
                let lower = |half: __m256i| _mm256_or_si256(half, _mm256_set1_epi8(0x20));
                let (low, high) = (lower(halves[0]), lower(halves[1]));
                Masks {
                    quote: both(halves[0], halves[1], b'"'),
                    backslash: both(halves[0], halves[1], b'\\'),
                    open: both(low, high, b'{'),
                    close: both(low, high, b'}'),
                }
            }
        },
        #[inline(always)]
        |mask: u64| {
            let product =
                _mm_clmulepi64_si128::<0>(_mm_set_epi64x(0, mask as i64), _mm_set1_epi8(-1));
            _mm_cvtsi128_si64(product) as u64
        },
    )
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn sse2_masks(block: &[u8; PAD]) -> Masks {
    use std::arch::x86_64::*;
    let mut masks = Masks {
        quote: 0,
        backslash: 0,
        open: 0,
        close: 0,
    };
    for i in 0..4 {
        // SAFETY: SSE2 is part of x86_64; the load lies in the 64 bytes.
        unsafe {
            let bytes = _mm_loadu_si128(block.as_ptr().add(16 * i).cast());
            let lower = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
            let mask = |bytes: __m128i, byte: u8| {
                let equal = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8));
                u64::from(_mm_movemask_epi8(equal) as u32) << (16 * i)
            };
            masks.quote |= mask(bytes, b'"');
            masks.backslash |= mask(bytes, b'\\');
            masks.open |= mask(lower, b'{');
            masks.close |= mask(lower, b'}');
        }
    }
    masks
}

/// Bit i of the result is the parity of bits 0 … i.
#[inline(always)]
fn prefix_xor(mut mask: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        mask ^= mask << shift;
    }
    mask
}

#[inline(always)]
fn walk(
    buf: &[u8],
    start: usize,
    end: usize,
    masks: impl Fn(&[u8; PAD]) -> Masks,
    prefix_xor: impl Fn(u64) -> u64,
) -> Option<usize> {
    let mut at = start;
    let mut depth = 0_u32;
    let mut in_string = 0_u64;
    let mut escape = 0_u64;
    while at < end {
        let block = masks(buf[at..at + PAD].try_into().expect("64 bytes"));
        let quotes = block.quote & !escaped(block.backslash, &mut escape);
        let inside = prefix_xor(quotes) ^ in_string;
        in_string = ((inside as i64) >> 63) as u64;
        let open = block.open & !inside;
        let mut close = block.close & !inside;
        if close.count_ones() >= depth {
            let mut closed = 0;
            while close != 0 {
                let bit = close.trailing_zeros();
                closed += 1;
                let opened = (open & ((1_u64 << bit) - 1)).count_ones();
                if depth + opened <= closed {
                    let behind = at + bit as usize + 1;
                    return (behind <= end).then_some(behind);
                }
                close &= close - 1;
            }
        }
        depth = depth + open.count_ones() - (block.close & !inside).count_ones();
        at += PAD;
    }
    None
}

#[inline(always)]
fn walk_string(
    buf: &[u8],
    mut at: usize,
    end: usize,
    masks: impl Fn(&[u8; PAD]) -> (u64, u64),
) -> Option<(usize, bool)> {
    let mut escape = 0_u64;
    let mut any = false;
    while at < end {
        let (quote, backslash) = masks(buf[at..at + PAD].try_into().expect("64 bytes"));
        let quotes = quote & !escaped(backslash, &mut escape);
        if quotes != 0 {
            let bit = quotes.trailing_zeros();
            any |= backslash & ((1_u64 << bit) - 1) != 0;
            let close = at + bit as usize;
            return (close < end).then_some((close, any));
        }
        any |= backslash != 0;
        at += PAD;
    }
    None
}

/// Bits of the bytes that a backslash escapes; `carry` says whether the first of the next block is one.
#[inline(always)]
fn escaped(backslash: u64, carry: &mut u64) -> u64 {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    if backslash == 0 {
        return std::mem::take(carry);
    }
    let starts = backslash & !*carry;
    let follows = starts << 1 | *carry;
    let odd_starts = starts & !EVEN & !follows;
    let (sequences, overflow) = odd_starts.overflowing_add(starts);
    *carry = u64::from(overflow);
    (EVEN ^ (sequences << 1)) & follows
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::eventlog::json::padding::padded;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_way_of_looking_finds_the_same(text in "[\\[\\]{}\"\\\\a, ]{0,300}") {
            let end = text.len() + 1;
            let buf = padded(format!("[{text}").as_bytes());
            let expected = walk(&buf, 0, end, portable_masks, prefix_xor);
            prop_assert_eq!(walk(&buf, 0, end, sse2_masks, prefix_xor), expected);
            prop_assert_eq!(container_end(&buf, 0, end), expected);
            prop_assert_eq!(naive(&buf[..end]), expected);
        }
    }

    proptest! {
        #[test]
        fn strings_end_where_a_plain_search_says(text in "(a|b| |\\\\.|\"){0,40}[a-z]{0,90}(\\\\.){0,9}\"?") {
            let buf = padded(text.as_bytes());
            let mut expected = None;
            let (mut i, mut any) = (0, false);
            while i < text.len() {
                match text.as_bytes()[i] {
                    b'\\' => { any = true; i += 1 }
                    b'"' => { expected = Some((i, any)); break }
                    _ => {}
                }
                i += 1;
            }
            let end = text.len();
            prop_assert_eq!(string_end(&buf, 0, end), expected);
            prop_assert_eq!(long_string_end(&buf, 0, end), expected);
            let sse2 = |block: &[u8; PAD]| { let masks = sse2_masks(block); (masks.quote, masks.backslash) };
            prop_assert_eq!(walk_string(&buf, 0, end, sse2), expected);
        }
    }

    fn naive(text: &[u8]) -> Option<usize> {
        let (mut depth, mut inside, mut i) = (0, false, 0);
        while i < text.len() {
            match text[i] {
                b'\\' if inside => i += 1,
                // Outside strings a backslash escapes quotes: such text is no JSON anyway.
                b'\\' if matches!(text.get(i + 1), Some(b'"' | b'\\')) => i += 1,
                b'"' => inside = !inside,
                b'[' | b'{' if !inside => depth += 1,
                b']' | b'}' if !inside => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(i + 1);
                    }
                }
                _ => {}
            }
            i += 1;
        }
        None
    }
}
