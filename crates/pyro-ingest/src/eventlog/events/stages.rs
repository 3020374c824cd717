//! Events about stages.

use super::event_error::EventError;
use crate::eventlog::json::{Cursor, Malformed};
use crate::eventlog::properties::{Properties, properties};
use crate::eventlog::stage_info::{Info, brief, info};
use crate::eventlog::state::App;
use crate::eventlog::tables::Tables;

/// `SparkListenerStageSubmitted`.
pub fn submitted(app: &mut App, line: &mut Cursor<'_>) -> std::result::Result<(), EventError> {
    let mut raw: &[u8] = b"{}";
    let mut stage_info = Info::default();
    let mut local = Properties::default();
    line.rest_of_line(|line, key| {
        match key {
            b"Stage Info" => {
                let mut look = line.clone();
                raw = line.raw()?;
                stage_info = brief(&mut look)?;
            }
            b"Properties" => local = properties(line)?,
            _ => line.skip()?,
        }
        Ok(())
    })?;
    let id = stage_info
        .stage_id
        .ok_or(Malformed("the stage has no id"))?;
    if app.ends.stages.has(id, stage_info.attempt) {
        app.ends.again("SparkListenerStageSubmitted");
        return Ok(());
    }
    app.saw(stage_info.submit);
    app.stages
        .submitted(id, stage_info.attempt as i32, raw, &local);
    Ok(())
}

/// `SparkListenerStageCompleted`.
pub fn completed(
    app: &mut App,
    tables: &mut Tables,
    line: &mut Cursor<'_>,
) -> std::result::Result<(), EventError> {
    let mut stage_info = Info::default();
    line.rest_of_line(|line, key| {
        match key {
            b"Stage Info" => stage_info = info(line)?,
            _ => line.skip()?,
        }
        Ok(())
    })?;
    let id = stage_info
        .stage_id
        .ok_or(Malformed("the stage has no id"))?;
    if !app.ends.stages.first(id, stage_info.attempt) {
        app.ends.again("SparkListenerStageCompleted");
        return Ok(());
    }
    app.saw(stage_info.submit);
    app.saw(stage_info.complete);
    Ok(app.stages.completed(id, &stage_info, app.index, tables)?)
}
