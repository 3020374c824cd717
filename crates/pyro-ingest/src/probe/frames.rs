//! Messages of an Arrow IPC stream, whole and sound ones only.

use std::io::{self, Read};

use arrow_ipc::Message;
use arrow_schema::{DataType, FieldRef, Schema};

use super::fault::Fault;

/// Largest message that is read; the probe's own are below 2 MiB.
const MAX_MESSAGE_BYTES: u64 = 256 << 20;

/// Cuts a stream into messages. No length in it is believed before it was compared with what is there.
pub struct Frames<R> {
    source: R,
    length: u64,
    /// Start of the message being read; after a fault, of the one at fault.
    pub offset: u64,
}

/// One message: prefix, header and body.
pub struct Frame {
    /// All its bytes.
    pub bytes: Vec<u8>,
    header_end: usize,
}

impl<R: Read> Frames<R> {
    /// A stream of `length` bytes.
    pub fn new(source: R, length: u64) -> Self {
        Self {
            source,
            length,
            offset: 0,
        }
    }

    /// The next message; `None` at the end mark.
    ///
    /// # Errors
    /// If the stream is cut or is none.
    pub fn next(&mut self) -> Result<Option<Frame>, Fault> {
        let rest = self.length - self.offset;
        if rest < 8 {
            return Err(Fault::Cut);
        }
        let mut bytes = Vec::new();
        self.extend(&mut bytes, 8)?;
        if bytes[..4] != [255; 4] {
            return Err(Fault::Unreadable("no message starts here".to_owned()));
        }
        let header = u64::from(u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]));
        if header == 0 && rest == 8 {
            return Ok(None);
        }
        if header == 0 {
            self.offset += 8;
            return Err(Fault::Unreadable("bytes follow the end mark".to_owned()));
        }
        check_length(8, header, rest)?;
        self.extend(&mut bytes, header)?;
        let message = arrow_ipc::root_as_message(&bytes[8..]).map_err(Fault::damaged)?;
        let body = u64::try_from(message.bodyLength()).map_err(Fault::damaged)?;
        check_length(8 + header, body, rest)?;
        let header_end = bytes.len();
        self.extend(&mut bytes, body)?;
        Ok(Some(Frame { bytes, header_end }))
    }

    fn extend(&mut self, bytes: &mut Vec<u8>, count: u64) -> Result<(), Fault> {
        let start = bytes.len();
        bytes.resize(start + count as usize, 0);
        self.source
            .read_exact(&mut bytes[start..])
            .map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => Fault::Cut,
                _ => Fault::Read(error),
            })
    }
}

fn check_length(before: u64, more: u64, rest: u64) -> Result<(), Fault> {
    if more > MAX_MESSAGE_BYTES {
        return Err(Fault::Unreadable(format!("message of {more} bytes")));
    }
    if before + more > rest {
        Err(Fault::Cut)
    } else {
        Ok(())
    }
}

impl Frame {
    /// Compares the layout that the header claims with the body and the stream's schema, which the
    /// first message sets. Arrow's decoder takes the layout for granted and would panic.
    ///
    /// # Errors
    /// If the message cannot be decoded.
    pub fn check(&self, schema: &mut Option<Schema>) -> Result<(), Fault> {
        let header = &self.bytes[8..self.header_end];
        let message = arrow_ipc::root_as_message(header).map_err(Fault::damaged)?;
        if let Some(header) = message.header_as_schema() {
            let read = arrow_ipc::convert::try_fb_to_schema(header).map_err(Fault::damaged)?;
            // Dictionaries come before the first batch, and name their column by a number only.
            let known = |field: &FieldRef| layout(field.data_type()).is_some();
            if !read.fields().iter().all(known) {
                return Err(Fault::damaged(
                    "a column of a type that the probe does not write",
                ));
            }
            *schema = Some(read);
        }
        let body = (self.bytes.len() - self.header_end) as u64;
        sound(&message, body, schema.as_ref()).ok_or_else(|| Fault::damaged("layout"))
    }
}

/// How the values of a column lie in a batch.
#[derive(Clone, Copy)]
enum Layout {
    /// So many bits each.
    Bits(u64),
    /// Offsets, one more than values, then bytes.
    Strings,
}

/// Layout of a column; `None` for types that the probe does not write.
fn layout(data_type: &DataType) -> Option<Layout> {
    match data_type {
        DataType::Boolean => Some(Layout::Bits(1)),
        DataType::Int32 => Some(Layout::Bits(32)),
        DataType::Dictionary(key, value)
            if **key == DataType::Int32 && **value == DataType::Utf8 =>
        {
            Some(Layout::Bits(32))
        }
        DataType::Int64 => Some(Layout::Bits(64)),
        DataType::Utf8 => Some(Layout::Strings),
        _ => None,
    }
}

fn sound(message: &Message, body: u64, schema: Option<&Schema>) -> Option<()> {
    let strings = message
        .header_as_dictionary_batch()
        .and_then(|dictionary| dictionary.data());
    let Some(batch) = message.header_as_record_batch().or(strings) else {
        return Some(());
    };
    let rows = u64::try_from(batch.length())
        .ok()
        .filter(|&rows| rows <= MAX_MESSAGE_BYTES)?;
    let mut buffers = batch.buffers().into_iter().flatten().map(|buffer| {
        let (offset, length) = (
            u64::try_from(buffer.offset()).ok()?,
            u64::try_from(buffer.length()).ok()?,
        );
        (offset % 8 == 0 && offset.checked_add(length)? <= body).then_some(length)
    });
    let mut nodes = batch.nodes().into_iter().flatten();
    let columns = match (strings, schema) {
        (Some(_), _) => vec![Layout::Strings],
        (None, schema) => {
            let fields = schema?.fields().iter();
            let layouts = fields.map(|field| layout(field.data_type()));
            layouts.collect::<Option<Vec<_>>>()?
        }
    };
    for layout in columns {
        let node = nodes.next()?;
        let nulls = u64::try_from(node.null_count()).ok()?;
        let (validity, values) = (buffers.next()??, buffers.next()??);
        let (bits, count) = match layout {
            Layout::Bits(bits) => (bits, rows),
            Layout::Strings => {
                buffers.next()??;
                (32, rows + u64::from(rows > 0))
            }
        };
        let sound = u64::try_from(node.length()) == Ok(rows)
            && nulls <= rows
            && (nulls == 0 || validity >= rows.div_ceil(8))
            && values >= (count * bits).div_ceil(8)
            && values % bits.div_ceil(8) == 0;
        sound.then_some(())?;
    }
    (buffers.next().is_none() && nodes.next().is_none()).then_some(())
}
