//! Events about executors.

use pyro_model::Result;

use super::event_error::EventError;
use crate::eventlog::json::{Cursor, Malformed, Read, Text};
use crate::eventlog::properties::text;
use crate::eventlog::state::{App, Executor};
use crate::eventlog::tables::{Tables, time_ns};

/// `SparkListenerExecutorAdded`.
pub fn executor_added(app: &mut App, line: &mut Cursor<'_>) -> std::result::Result<(), EventError> {
    let mut id = None;
    let mut found = Executor::default();
    line.rest_of_line(|line, key| {
        match key {
            b"Timestamp" => found.add = line.optional_integer()?,
            b"Executor ID" => id = text(line)?,
            b"Executor Info" => line.object(|line, key| {
                match key {
                    b"Host" => found.host = text(line)?,
                    b"Total Cores" => found.cores = line.optional_integer()?,
                    b"Resource Profile Id" => found.resource_profile = line.optional_integer()?,
                    b"Request Time" => found.request = line.optional_integer()?,
                    _ => line.skip()?,
                }
                Ok(())
            })?,
            _ => line.skip()?,
        }
        Ok(())
    })?;
    app.saw(found.add);
    let executor = executor(app, id)?;
    executor.request = found.request.or(executor.request);
    executor.add = found.add.or(executor.add);
    executor.host = found.host.or(executor.host.take());
    executor.cores = found.cores.or(executor.cores);
    executor.resource_profile = found.resource_profile.or(executor.resource_profile);
    Ok(())
}

/// `SparkListenerExecutorRemoved`.
pub fn executor_removed(
    app: &mut App,
    line: &mut Cursor<'_>,
) -> std::result::Result<(), EventError> {
    let (mut id, mut time, mut reason) = (None, None, None);
    line.rest_of_line(|line, key| {
        match key {
            b"Timestamp" => time = line.optional_integer()?,
            b"Executor ID" => id = text(line)?,
            b"Removed Reason" => reason = text(line)?,
            _ => line.skip()?,
        }
        Ok(())
    })?;
    app.saw(time);
    let executor = executor(app, id)?;
    executor.remove = time;
    executor.remove_reason = reason;
    Ok(())
}

/// `SparkListenerBlockManagerAdded`: how much memory, and the one sign of the driver in older logs.
pub fn block_manager_added(
    app: &mut App,
    line: &mut Cursor<'_>,
) -> std::result::Result<(), EventError> {
    let (mut id, mut host, mut time, mut memory) = (None, None, None, None);
    line.rest_of_line(|line, key| {
        match key {
            b"Block Manager ID" => line.object(|line, key| {
                match key {
                    b"Executor ID" => id = text(line)?,
                    b"Host" => host = text(line)?,
                    _ => line.skip()?,
                }
                Ok(())
            })?,
            b"Maximum Memory" => memory = line.optional_integer()?,
            b"Timestamp" => time = line.optional_integer()?,
            _ => line.skip()?,
        }
        Ok(())
    })?;
    app.saw(time);
    // Spark 1.x called the driver so.
    let id = id.map(|id| {
        if id == "<driver>" {
            "driver".to_owned()
        } else {
            id
        }
    });
    let executor = executor(app, id)?;
    executor.host = executor.host.take().or(host);
    executor.add = executor.add.or(time);
    executor.max_memory = memory.or(executor.max_memory);
    Ok(())
}

/// `SparkListenerStageExecutorMetrics`: peaks of one executor during one stage.
pub fn stage_executor_metrics(
    app: &mut App,
    line: &mut Cursor<'_>,
) -> std::result::Result<(), EventError> {
    let mut id = None;
    let mut peaks = Vec::new();
    line.rest_of_line(|line, key| {
        match key {
            b"Executor ID" => id = text(line)?,
            b"Executor Metrics" => line.object(|line, key| {
                let name = Text {
                    raw: key,
                    escaped: true,
                }
                .decode();
                peaks.extend(line.loose_integer()?.map(|peak| (name, peak)));
                Ok(())
            })?,
            _ => line.skip()?,
        }
        Ok(())
    })?;
    let executor = executor(app, id)?;
    for (name, peak) in peaks {
        match executor.peaks.get_mut(name.as_ref()) {
            Some(highest) => *highest = peak.max(*highest),
            None => drop(executor.peaks.insert(name.into_owned(), peak)),
        }
    }
    Ok(())
}

fn executor(app: &mut App, id: Option<String>) -> Read<&mut Executor> {
    let id = id.ok_or(Malformed("the executor has no id"))?;
    Ok(app.executors.entry(id).or_default())
}

/// Writes the executors.
///
/// # Errors
/// If a row cannot be written.
pub fn finish(app: &App, tables: &mut Tables) -> Result<()> {
    for (id, executor) in &app.executors {
        let peaks =
            serde_json::to_string(&executor.peaks).expect("strings and integers always serialise");
        let rows = &mut tables.executors.rows;
        rows.app_index.append_value(app.index);
        rows.executor_id.append_value(id);
        rows.host.append_option(executor.host.as_deref());
        rows.cores_count
            .append_option(executor.cores.and_then(|cores| cores.try_into().ok()));
        rows.request_wall_ns
            .append_option(time_ns(executor.request));
        rows.add_wall_ns.append_option(time_ns(executor.add));
        rows.remove_wall_ns.append_option(time_ns(executor.remove));
        rows.remove_reason
            .append_option(executor.remove_reason.as_deref());
        rows.max_memory_bytes.append_option(executor.max_memory);
        rows.resource_profile_id
            .append_option(executor.resource_profile.and_then(|id| id.try_into().ok()));
        rows.peak_metrics
            .append_option(Some(peaks).filter(|_| !executor.peaks.is_empty()));
        tables.executors.row_done()?;
    }
    Ok(())
}
