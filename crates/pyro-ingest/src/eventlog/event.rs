//! One line: an event, or why it is none.

use pyro_model::Error;

use super::events::{self, EventError, Taken};
use super::json::{self, Cursor, Malformed};
use super::state::App;
use super::tables::Tables;

/// Why a line gave no event.
pub enum LineError {
    /// It is damaged, at a byte of it.
    Line {
        /// Where in the line.
        position: usize,
        /// What is wrong.
        why: &'static str,
    },
    /// The tables cannot be written.
    Stop(Error),
}

/// Reads the line `buf[..len]`; `None` if it is blank.
pub fn event<'a>(
    app: &mut App,
    tables: &mut Tables,
    buf: &'a [u8],
    len: usize,
) -> std::result::Result<Option<(Taken, &'a [u8])>, LineError> {
    let mut line = Cursor::new(buf, len);
    if line.finished() {
        return Ok(None);
    }
    let bad = |line: &Cursor<'_>, Malformed(why)| LineError::Line {
        position: line.position(),
        why,
    };
    let name = match name(&mut line) {
        Ok(name) => name,
        Err(why) => return Err(bad(&line, why)),
    };
    match events::take(app, tables, name, &mut line) {
        Ok(taken) => Ok(Some((taken, name))),
        Err(EventError::Line(why)) => Err(bad(&line, why)),
        Err(EventError::Tables(error)) => Err(LineError::Stop(error)),
    }
}

/// The event's name; `line` then stands where [`Cursor::rest_of_line`] can begin.
fn name<'a>(line: &mut Cursor<'a>) -> json::Read<&'a [u8]> {
    if line.literal(b"{\"Event\":") {
        return Ok(line.string()?.raw);
    }
    let mut name = None;
    let mut look = line.clone();
    let read = look.object(|look, key| {
        match key {
            b"Event" => name = Some(look.string()?.raw),
            _ => look.skip()?,
        }
        Ok(())
    });
    if let Err(why) = read {
        *line = look;
        return Err(why);
    }
    line.open()?;
    name.ok_or(Malformed("there is no field \"Event\""))
}
