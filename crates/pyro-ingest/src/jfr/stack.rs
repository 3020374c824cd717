//! Stacks as a chunk describes them.

use super::bytes::Cursor;
use super::metadata::{Metadata, Step};
use super::shape::skip;

/// One frame of a stack: keys, not values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RawFrame {
    /// Key of the method.
    pub method: u64,
    /// Source line, 0 if unknown.
    pub line: i32,
    /// Key of the frame type.
    pub kind: u64,
}

impl RawFrame {
    fn new([method, line, kind]: [u64; 3]) -> Self {
        Self {
            method,
            line: line as i32,
            kind,
        }
    }
}

/// How to read a stack trace: `truncated`, and `frames` somewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct StackShape {
    before_frames: Vec<(bool, Vec<Step>)>,
    /// Fields of a frame: which of method, line and type they are.
    frame: Vec<(Option<usize>, Step)>,
    /// Where each field is a compressed integer, as it commonly is: their number, and which of
    /// them are method, line and type.
    plain: Option<(usize, [usize; 3])>,
}

/// Fields of a frame, at most, that are read as plain integers; one more stays 0.
const PLAIN_FIELDS: usize = 7;

impl StackShape {
    /// The shape, where the chunk has stacks.
    pub fn compile(metadata: &Metadata) -> Option<Self> {
        let class = metadata.get(metadata.id("jdk.types.StackTrace")?)?;
        let at = class
            .fields
            .iter()
            .position(|field| field.name == "frames")?;
        let mut before_frames = Vec::new();
        for field in &class.fields[..at] {
            before_frames.push((field.name == "truncated", metadata.field_steps(field).ok()?));
        }
        let mut frame = Vec::new();
        for field in &metadata.get(class.fields[at].class)?.fields {
            let slot = ["method", "lineNumber", "type"]
                .iter()
                .position(|name| *name == field.name);
            for step in metadata.field_steps(field).ok()? {
                frame.push((slot, step));
            }
        }
        let all_varints = frame.iter().all(|(_, step)| *step == Step::Varint);
        let place = |slot| frame.iter().position(|(found, _)| *found == Some(slot));
        let plain = (all_varints && frame.len() <= PLAIN_FIELDS).then(|| {
            let places = [0, 1, 2].map(|slot| place(slot).unwrap_or(PLAIN_FIELDS));
            (frame.len(), places)
        });
        Some(Self {
            before_frames,
            frame,
            plain,
        })
    }

    /// Appends the frames of a stack, leaf first, and says whether the profiler cut it.
    pub fn read(&self, bytes: &[u8], frames: &mut Vec<RawFrame>) -> Option<bool> {
        let cursor = &mut Cursor::new(bytes);
        let mut truncated = false;
        for (is_truncated, steps) in &self.before_frames {
            if *is_truncated {
                truncated = cursor.byte().ok()? != 0;
            } else {
                skip(cursor, steps).ok()?;
            }
        }
        let count = cursor.count().ok()?;
        if let Some((width, places)) = self.plain {
            let mut fields = [0; PLAIN_FIELDS + 1];
            for _ in 0..count {
                for field in &mut fields[..width] {
                    *field = cursor.varint().ok()?;
                }
                frames.push(RawFrame::new(places.map(|place| fields[place])));
            }
        } else {
            for _ in 0..count {
                frames.push(self.frame(cursor)?);
            }
        }
        Some(truncated)
    }

    fn frame(&self, cursor: &mut Cursor<'_>) -> Option<RawFrame> {
        let mut values = [0; 3];
        for (slot, step) in &self.frame {
            let value = match step {
                Step::Varint => cursor.varint().ok()?,
                Step::Byte => u64::from(cursor.byte().ok()?),
                other => {
                    skip(cursor, std::slice::from_ref(other)).ok()?;
                    continue;
                }
            };
            if let Some(slot) = *slot {
                values[slot] = value;
            }
        }
        Some(RawFrame::new(values))
    }
}
