//! The LZF algorithm.

/// Appends the content of a compressed chunk, which must be `size` bytes, to `out`.
pub fn decompress(input: &[u8], size: usize, out: &mut Vec<u8>) -> Option<()> {
    let base = out.len();
    let mut rest = input;
    while let Some((&control, after)) = rest.split_first() {
        rest = after;
        let control = usize::from(control);
        if control < 32 {
            out.extend_from_slice(rest.get(..=control)?);
            rest = &rest[control + 1..];
        } else {
            let mut length = control >> 5;
            if length == 7 {
                let (&more, after) = rest.split_first()?;
                length += usize::from(more);
                rest = after;
            }
            let (&low, after) = rest.split_first()?;
            rest = after;
            let distance = (control & 31) << 8 | usize::from(low);
            let from = (out.len() - base).checked_sub(distance + 1)? + base;
            for i in from..from + length + 2 {
                out.push(out[i]);
            }
        }
        if out.len() - base > size {
            return None;
        }
    }
    (out.len() - base == size).then_some(())
}

#[cfg(test)]
mod tests {
    use super::decompress;

    #[test]
    fn literals_and_overlapping_references_decode() {
        // "ab", then 8 bytes from 2 back, then a long one from 1 back.
        let mut out = b"kept".to_vec();
        decompress(&[1, b'a', b'b', 6 << 5, 1, 7 << 5, 3, 0], 22, &mut out).unwrap();
        assert_eq!(
            out,
            b"keptababababab"
                .iter()
                .copied()
                .chain([b'b'; 12])
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn what_reaches_before_the_start_or_beyond_the_size_is_refused() {
        assert!(decompress(&[6 << 5, 1], 8, &mut b"kept".to_vec()).is_none());
        assert!(decompress(&[1, b'a', b'b'], 1, &mut Vec::new()).is_none());
        assert!(decompress(&[3, b'a'], 4, &mut Vec::new()).is_none());
    }
}
