//! Where a symbol of an ELF file lies once the file is mapped.
//!
//! 64-bit little-endian files only, as on every Linux that the probe is built for. Only what is
//! looked at is read, and no more than the file holds.

use object::elf::{FileHeader64, PT_LOAD, SHN_UNDEF, SHT_DYNSYM, SHT_SYMTAB, STT_TLS, Sym64};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, SectionTable, Sym};
use object::read::{ReadRef, StringTable};
use object::{LittleEndian, SectionIndex};

/// Bytes of the tables that are read of a file, together.
const MAX_BYTES: u64 = 256 << 20;
/// Segments, and sections, of a file at most.
const MAX_ROWS: usize = 1 << 16;
const PAGE: u64 = 4096;

type Header = FileHeader64<LittleEndian>;

/// A part of the file that is mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Segment {
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
        // What the file calls `offset` lies at `start`: their difference is how far all was moved.
        let in_file = segment
            .address
            .wrapping_sub(segment.offset)
            .wrapping_add(offset);
        Some(self.address.wrapping_add(start.wrapping_sub(in_file)))
    }
}

/// Looks a symbol up, among the dynamic ones first.
///
/// # Errors
/// Why it has no address.
pub fn symbol<'data>(file: impl ReadRef<'data>, name: &str) -> Result<Found, String> {
    let ident = file.read_bytes_at(0, 6).map_err(|()| "not an ELF file")?;
    if !ident.starts_with(b"\x7fELF") {
        return Err("not an ELF file".to_owned());
    }
    if ident[4..] != [2, 1] {
        return Err("not a 64-bit little-endian ELF file".to_owned());
    }
    let header = Header::parse(file).map_err(|error| error.to_string())?;
    for count in [
        header.phnum(LittleEndian, file),
        header.shnum(LittleEndian, file),
    ] {
        if count.map_err(|error| error.to_string())? > MAX_ROWS {
            return Err("too many segments or sections".to_owned());
        }
    }
    let segments = segments(header, file).map_err(|error| error.to_string())?;
    let sections = header
        .section_headers(LittleEndian, file)
        .map_err(|error| error.to_string())?;
    // Their names are not needed.
    let sections: SectionTable<'data, Header, _> =
        SectionTable::new(sections, StringTable::default());
    let mut room = MAX_BYTES;
    for kind in [SHT_DYNSYM, SHT_SYMTAB] {
        for section in sections.iter() {
            if section.sh_type(LittleEndian) == kind
                && let Some(symbol) = look_up(file, &sections, section, name, &mut room)
            {
                if symbol.st_type() == STT_TLS {
                    return Err("thread-local: each thread has its own".to_owned());
                }
                let address = symbol.st_value(LittleEndian);
                return Ok(Found { address, segments });
            }
        }
    }
    Err("no such symbol".to_owned())
}

fn segments<'data>(
    header: &Header,
    file: impl ReadRef<'data>,
) -> object::read::Result<Vec<Segment>> {
    let rows = header.program_headers(LittleEndian, file)?;
    let loaded = rows
        .iter()
        .filter(|row| row.p_type(LittleEndian) == PT_LOAD)
        .map(|row| Segment {
            offset: row.p_offset(LittleEndian),
            address: row.p_vaddr(LittleEndian),
            length: row.p_filesz(LittleEndian),
        });
    Ok(loaded.collect())
}

/// A symbol that is defined here; tables for which there is no `room` are not read.
fn look_up<'data, R: ReadRef<'data>>(
    file: R,
    sections: &SectionTable<'data, Header, R>,
    section: &<Header as FileHeader>::SectionHeader,
    name: &str,
    room: &mut u64,
) -> Option<&'data Sym64<LittleEndian>> {
    let link = SectionIndex(section.sh_link(LittleEndian) as usize);
    let strings = sections.section(link).ok()?;
    let size = |section: &<Header as FileHeader>::SectionHeader| section.sh_size(LittleEndian);
    *room = room.checked_sub(size(strings).checked_add(size(section))?)?;
    // As a whole: names would be read from the file one by one.
    let bytes = strings.data(LittleEndian, file).ok()?;
    let strings = StringTable::new(bytes, 0, bytes.len() as u64);
    let symbols: &[Sym64<LittleEndian>] = section.data_as_array(LittleEndian, file).ok()?;
    symbols.iter().find(|symbol| {
        symbol.st_shndx(LittleEndian) != SHN_UNDEF
            && symbol.name(LittleEndian, strings) == Ok(name.as_bytes())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A file with one segment at 0x1000 of the file, 0x4000 of memory, and one symbol.
    fn small(name: &str, kind: u8, value: u64) -> Vec<u8> {
        let mut file = vec![0; 0x100];
        file[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
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
        put32(&mut file, 64, PT_LOAD);
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
        // The first is empty in every file: links of 0 lead nowhere.
        for (kind, offset, end) in [
            (0, 0, 0),
            (3, strings, strings_end),
            (SHT_DYNSYM, strings_end, symbols_end),
        ] {
            let mut row = vec![0; 64];
            put32(&mut row, 4, kind);
            put32(&mut row, 40, 1);
            put64(&mut row, 24, offset as u64);
            put64(&mut row, 32, (end - offset) as u64);
            file.extend(row);
        }
        put64(&mut file, 40, sections as u64);
        put16(&mut file, 58, 64);
        put16(&mut file, 60, 3);
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
    fn what_has_no_address_is_an_error() {
        let local = small("x", STT_TLS, 8);
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
    fn a_file_of_too_many_sections_is_refused() {
        let mut file = small("x", 1, 8);
        let sections = u64::from_le_bytes(file[40..48].try_into().unwrap()) as usize;
        // No number in the header: it is the size of the first section.
        file[60..62].fill(0);
        file[sections + 32..sections + 40].copy_from_slice(&(1_u64 << 40).to_le_bytes());
        let message = symbol(file.as_slice(), "x").unwrap_err();
        assert_eq!(message, "too many segments or sections");
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
