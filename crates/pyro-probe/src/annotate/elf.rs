//! Where a symbol of an ELF file lies once the file is mapped.
//!
//! 64-bit little-endian files only, as on every Linux that the probe is built for. No size in the
//! file is believed: each is compared with the file's length and with a limit before it is read.

/// Bytes that can be read anywhere.
pub trait Bytes {
    /// How many there are.
    fn length(&self) -> u64;
    /// Exactly `length` bytes at `offset`; `None` if they are not there.
    fn at(&self, offset: u64, length: usize) -> Option<Vec<u8>>;
}

impl Bytes for [u8] {
    fn length(&self) -> u64 {
        self.len() as u64
    }
    fn at(&self, offset: u64, length: usize) -> Option<Vec<u8>> {
        let start = usize::try_from(offset).ok()?;
        Some(self.get(start..start.checked_add(length)?)?.to_vec())
    }
}

/// Largest table that is read.
const MOST_BYTES: u64 = 256 << 20;
const HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;
const SECTION_HEADER: usize = 64;
const SYMBOL: usize = 24;
const LOADED: u32 = 1;
const SYMBOLS: u32 = 2;
const DYNAMIC_SYMBOLS: u32 = 11;
const THREAD_LOCAL: u8 = 6;
const PAGE: u64 = 4096;

/// A part of the file that is mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    offset: u64,
    address: u64,
    length: u64,
}

/// What is needed of a file to find a symbol in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Address of the symbol as the file gives it.
    pub address: u64,
    segments: Vec<Segment>,
}

impl Found {
    /// The symbol's address in a process that mapped the file from `offset` on at `start`.
    pub fn in_process(&self, start: u64, offset: u64) -> Option<u64> {
        let segment = self.segments.iter().find(|segment| {
            let first = segment.offset - segment.offset % PAGE;
            offset >= first && offset < segment.offset.saturating_add(segment.length.max(1))
        })?;
        // What the file calls `offset` lies at `start`; both tell how far all was moved.
        let told = segment
            .address
            .wrapping_sub(segment.offset)
            .wrapping_add(offset);
        Some(self.address.wrapping_add(start.wrapping_sub(told)))
    }
}

/// Looks a symbol up, among the dynamic ones first.
///
/// # Errors
/// Why it has no address.
pub fn symbol(file: &(impl Bytes + ?Sized), name: &str) -> Result<Found, String> {
    let header = file.at(0, HEADER).ok_or("not an ELF file")?;
    if !header.starts_with(b"\x7fELF") {
        return Err("not an ELF file".to_owned());
    }
    if header[4..6] != [2, 1] {
        return Err("not a 64-bit little-endian ELF file".to_owned());
    }
    let segments = segments(file, &header).ok_or("damaged program headers")?;
    let sections = sections(file, &header).ok_or("damaged section headers")?;
    for kind in [DYNAMIC_SYMBOLS, SYMBOLS] {
        for section in sections.iter().filter(|section| section.kind == kind) {
            if let Some((address, kind)) = look_up(file, &sections, section, name) {
                if kind == THREAD_LOCAL {
                    return Err("thread-local: each thread has its own".to_owned());
                }
                return Ok(Found { address, segments });
            }
        }
    }
    Err("no such symbol".to_owned())
}

struct Section {
    kind: u32,
    offset: u64,
    length: u64,
    link: usize,
}

fn segments(file: &(impl Bytes + ?Sized), header: &[u8]) -> Option<Vec<Segment>> {
    let table = table(
        file,
        u64_at(header, 32)?,
        u16_at(header, 54)?,
        PROGRAM_HEADER,
        u16_at(header, 56)?,
    )?;
    let loaded = table.chunks_exact(PROGRAM_HEADER).filter_map(|row| {
        (u32_at(row, 0)? == LOADED).then_some(Segment {
            offset: u64_at(row, 8)?,
            address: u64_at(row, 16)?,
            length: u64_at(row, 32)?,
        })
    });
    Some(loaded.collect())
}

fn sections(file: &(impl Bytes + ?Sized), header: &[u8]) -> Option<Vec<Section>> {
    let table = table(
        file,
        u64_at(header, 40)?,
        u16_at(header, 58)?,
        SECTION_HEADER,
        u16_at(header, 60)?,
    )?;
    let rows = table.chunks_exact(SECTION_HEADER).map(|row| {
        Some(Section {
            kind: u32_at(row, 4)?,
            offset: u64_at(row, 24)?,
            length: u64_at(row, 32)?,
            link: u32_at(row, 40)? as usize,
        })
    });
    rows.collect()
}

/// A table of headers; empty where there is none.
fn table(
    file: &(impl Bytes + ?Sized),
    offset: u64,
    row: u16,
    expected: usize,
    rows: u16,
) -> Option<Vec<u8>> {
    if rows == 0 {
        return Some(Vec::new());
    }
    (usize::from(row) == expected).then_some(())?;
    file.at(offset, expected * usize::from(rows))
}

/// Value and type of a symbol that is defined here.
fn look_up(
    file: &(impl Bytes + ?Sized),
    sections: &[Section],
    symbols: &Section,
    name: &str,
) -> Option<(u64, u8)> {
    let strings = contents(file, sections.get(symbols.link)?)?;
    contents(file, symbols)?
        .chunks_exact(SYMBOL)
        .find_map(|row| {
            let start = u32_at(row, 0)? as usize;
            let called = strings.get(start..)?.strip_prefix(name.as_bytes())?;
            let undefined = u16_at(row, 6)? == 0;
            (called.first() == Some(&0) && !undefined).then_some((u64_at(row, 8)?, row[4] & 0xf))
        })
}

fn contents(file: &(impl Bytes + ?Sized), section: &Section) -> Option<Vec<u8>> {
    let end = section.offset.checked_add(section.length)?;
    (section.length <= MOST_BYTES && end <= file.length()).then_some(())?;
    file.at(section.offset, usize::try_from(section.length).ok()?)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A file with one segment at 0x1000 of the file, 0x4000 of memory, and one symbol.
    fn small(name: &str, kind: u8, value: u64) -> Vec<u8> {
        let mut file = vec![0; 0x100];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        let put16 = |file: &mut Vec<u8>, at: usize, v: u16| {
            file[at..at + 2].copy_from_slice(&v.to_le_bytes())
        };
        let put32 = |file: &mut Vec<u8>, at: usize, v: u32| {
            file[at..at + 4].copy_from_slice(&v.to_le_bytes())
        };
        let put64 = |file: &mut Vec<u8>, at: usize, v: u64| {
            file[at..at + 8].copy_from_slice(&v.to_le_bytes())
        };
        put64(&mut file, 32, 64);
        put16(&mut file, 54, 56);
        put16(&mut file, 56, 1);
        put32(&mut file, 64, LOADED);
        for (at, value) in [(8, 0x1000), (16, 0x4000), (32, 0x2000)] {
            put64(&mut file, 64 + at, value);
        }
        let strings = file.len();
        file.extend(b"\0other\0");
        file.extend(name.as_bytes());
        file.push(0);
        let strings_end = file.len();
        for (start, value) in [(1, 5), (7, value)] {
            file.extend(u32::to_le_bytes(start));
            file.extend([kind, 0, 1, 0]);
            file.extend(u64::to_le_bytes(value));
            file.extend([0; 8]);
        }
        let (symbols_end, sections) = (file.len(), file.len());
        for (kind, offset, end) in [
            (3, strings, strings_end),
            (DYNAMIC_SYMBOLS, strings_end, symbols_end),
        ] {
            let mut row = vec![0; 64];
            put32(&mut row, 4, kind);
            put64(&mut row, 24, offset as u64);
            put64(&mut row, 32, (end - offset) as u64);
            file.extend(row);
        }
        put64(&mut file, 40, sections as u64);
        put16(&mut file, 58, 64);
        put16(&mut file, 60, 2);
        file
    }

    #[test]
    fn a_symbol_and_its_place_in_memory() {
        let file = small("my_state", 1, 0x4abc);
        let found = symbol(file.as_slice(), "my_state").unwrap();
        assert_eq!(found.address, 0x4abc);
        assert_eq!(
            found.in_process(0x7f00_0000_0000, 0x1000),
            Some(0x7f00_0000_0abc)
        );
        assert_eq!(
            found.in_process(0x7f00_0000_0000, 0x2000),
            Some(0x7eff_ffff_fabc)
        );
        assert_eq!(found.in_process(0x7f00_0000_0000, 0x9000), None);
        assert_eq!(
            symbol(file.as_slice(), "my_stat").unwrap_err(),
            "no such symbol"
        );
        assert_eq!(symbol(file.as_slice(), "other").unwrap().address, 5);
    }

    #[test]
    fn what_has_no_address_is_told() {
        let local = small("x", THREAD_LOCAL, 8);
        assert!(
            symbol(local.as_slice(), "x")
                .unwrap_err()
                .contains("thread-local")
        );
        let mut narrow = small("x", 1, 8);
        narrow[4] = 1;
        assert!(
            symbol(narrow.as_slice(), "x")
                .unwrap_err()
                .contains("64-bit")
        );
        assert!(
            symbol([0_u8; 9].as_slice(), "x")
                .unwrap_err()
                .contains("not an ELF")
        );
    }

    #[test]
    fn our_own_program() {
        let own = std::fs::read("/proc/self/exe").unwrap();
        assert!(symbol(own.as_slice(), "main").is_ok());
    }

    proptest! {
        #[test]
        fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = symbol(bytes.as_slice(), "x");
        }

        #[test]
        fn any_damage(at in 0_usize..600, value: u8, cut in 0_usize..600) {
            let mut file = small("my_state", 1, 0x4abc);
            let (at, cut) = (at % file.len(), cut % file.len());
            file[at] = value;
            if let Ok(found) = symbol(file.as_slice(), "my_state") {
                let _ = found.in_process(0x7f00_0000_0000, 0x1000);
            }
            let _ = symbol(&file[..cut], "my_state");
        }
    }
}
