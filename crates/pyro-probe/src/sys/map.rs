//! Maps of BPF programs, emptied many elements at a time: what the loader's own interface has not.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use aya::maps::{MapData, MapType};
use libc::c_long;

const BPF_MAP_LOOKUP_AND_DELETE_BATCH: c_long = 25;

/// Elements taken away in one call; a call must have room for the fullest bucket of a map.
const ROOM: usize = 1024;

/// `union bpf_attr` of the commands on many elements.
#[repr(C)]
struct Batch {
    after: u64,
    place: u64,
    keys: u64,
    values: u64,
    count: u32,
    map: u32,
    element_flags: u64,
    flags: u64,
}

/// Takes every element out of a hash map (Linux 5.6 and later).
///
/// # Errors
/// What the system says; what was passed on until then is gone from the map. `InvalidInput` where
/// the map is no hash map, or its keys or values have another size.
pub fn drain(
    map: &MapData,
    key_bytes: usize,
    value_bytes: usize,
    mut each: impl FnMut(&[u8], &[u8]),
) -> io::Result<()> {
    let info = map.info().map_err(io::Error::other)?;
    let sizes = (info.key_size() as usize, info.value_size() as usize);
    if !matches!(info.map_type(), Ok(MapType::Hash)) || sizes != (key_bytes, value_bytes) {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let (mut keys, mut values) = (vec![0; ROOM * key_bytes], vec![0; ROOM * value_bytes]);
    let (mut place, mut first) = ([0_u64; 8], true);
    loop {
        let at = place;
        let mut batch = Batch {
            after: if first { 0 } else { at.as_ptr() as u64 },
            place: place.as_mut_ptr() as u64,
            keys: keys.as_mut_ptr() as u64,
            values: values.as_mut_ptr() as u64,
            count: ROOM as u32,
            map: map.fd().as_fd().as_raw_fd() as u32,
            element_flags: 0,
            flags: 0,
        };
        // SAFETY: the kernel fills at most ROOM keys and values, of the sizes that it told, and a
        // place, which has four bytes in a hash map.
        let result = unsafe {
            libc::syscall(
                libc::SYS_bpf,
                BPF_MAP_LOOKUP_AND_DELETE_BATCH,
                &raw mut batch,
                size_of::<Batch>() as c_long,
            )
        };
        let error = (result < 0).then(io::Error::last_os_error);
        let ended = error.as_ref().and_then(io::Error::raw_os_error) == Some(libc::ENOENT);
        if let Some(error) = error
            && !ended
        {
            return Err(error);
        }
        let taken = (batch.count as usize).min(ROOM);
        let elements = keys
            .chunks_exact(key_bytes)
            .zip(values.chunks_exact(value_bytes));
        elements
            .take(taken)
            .for_each(|(key, value)| each(key, value));
        if ended {
            return Ok(());
        }
        first = false;
    }
}
