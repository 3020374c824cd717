//! Events about SQL executions.

use super::event_error::EventError;
use crate::eventlog::json::{Cursor, Malformed};
use crate::eventlog::properties::text;
use crate::eventlog::state::{App, Update, metric};
use crate::eventlog::tables::Tables;

/// `SparkListenerSQLExecutionStart` and `SparkListenerSQLAdaptiveExecutionUpdate`.
pub fn plan(
    app: &mut App,
    tables: &mut Tables,
    line: &mut Cursor<'_>,
) -> std::result::Result<(), EventError> {
    let mut spare = std::mem::take(&mut app.sql.spare);
    let (mut sql_id, mut root, mut start, mut description, mut details) =
        (None, None, None, None, None);
    let (mut physical_plan, mut planned) = (None, false);
    let symbols = &mut app.symbols;
    line.rest_of_line(|line, key| {
        match key {
            b"executionId" => sql_id = line.optional_integer()?,
            b"rootExecutionId" => root = line.loose_integer()?,
            b"description" => description = text(line)?,
            b"details" => details = text(line)?,
            b"time" => start = line.optional_integer()?,
            b"physicalPlanDescription" => physical_plan = line.optional_string()?,
            b"sparkPlanInfo" if !line.null() => {
                spare.read(line, symbols)?;
                planned = true;
            }
            b"sparkPlanInfo" => {}
            _ => line.skip()?,
        }
        Ok(())
    })?;
    let sql_id = sql_id.ok_or(Malformed("the SQL execution has no id"))?;
    app.saw(start);
    let Some(execution) = app.sql.get(sql_id) else {
        return Ok(());
    };
    if execution.repeated(start.is_some() && app.ends.one_application()) {
        app.ends.again("SparkListenerSQLExecutionStart");
        app.sql.spare = spare;
        return Ok(());
    }
    execution.root_sql_id = root.or(execution.root_sql_id);
    execution.start = start.or(execution.start);
    execution.description = description.or(execution.description.take());
    execution.details = details.or(execution.details.take());
    if let Some(text) = physical_plan {
        let kept = execution.physical_plan.get_or_insert_default();
        kept.0.clear();
        kept.0.extend_from_slice(text.raw);
        kept.1 = text.escaped;
    }
    if planned {
        execution.replace_plan(&mut spare, (app.index, sql_id), &app.symbols, tables)?;
    }
    app.sql.spare = spare;
    Ok(app
        .sql
        .write_some_if_many(app.index, &app.symbols, tables)?)
}

/// `SparkListenerSQLAdaptiveSQLMetricUpdates`: metrics of a re-planned subquery, without their nodes.
pub fn metrics(app: &mut App, line: &mut Cursor<'_>) -> std::result::Result<(), EventError> {
    let mut sql_id = None;
    let mut found = Vec::new();
    let symbols = &mut app.symbols;
    line.rest_of_line(|line, key| {
        match key {
            b"executionId" => sql_id = line.optional_integer()?,
            b"sqlPlanMetrics" => line.array(|line| {
                found.push(metric(line, symbols, None)?);
                Ok(())
            })?,
            _ => line.skip()?,
        }
        Ok(())
    })?;
    let Some(execution) = app
        .sql
        .get(sql_id.ok_or(Malformed("the SQL execution has no id"))?)
    else {
        return Ok(());
    };
    if execution.repeated(false) {
        app.ends.again("SparkListenerSQLAdaptiveSQLMetricUpdates");
        return Ok(());
    }
    for metric in &found {
        execution.add_metric(metric);
    }
    Ok(())
}

/// `SparkListenerDriverAccumUpdates`.
pub fn driver_updates(app: &mut App, line: &mut Cursor<'_>) -> std::result::Result<(), EventError> {
    let mut sql_id = None;
    let mut updates: Vec<Update> = Vec::new();
    line.rest_of_line(|line, key| {
        match key {
            b"executionId" => sql_id = line.optional_integer()?,
            b"accumUpdates" => line.array(|line| {
                let mut pair = [None; 2];
                let mut place = 0;
                line.array(|line| {
                    let value = line.loose_integer()?;
                    *pair
                        .get_mut(place)
                        .ok_or(Malformed("an update is not a pair"))? = value;
                    place += 1;
                    Ok(())
                })?;
                updates.push((
                    pair[0].ok_or(Malformed("an update has no accumulator"))?,
                    pair[1],
                ));
                Ok(())
            })?,
            _ => line.skip()?,
        }
        Ok(())
    })?;
    if let Some(execution) = app
        .sql
        .get(sql_id.ok_or(Malformed("the SQL execution has no id"))?)
    {
        if execution.repeated(false) {
            app.ends.again("SparkListenerDriverAccumUpdates");
        } else {
            execution.sums.entry(None).or_default().add(&updates, None);
        }
    }
    Ok(())
}

/// `SparkListenerSQLExecutionEnd`.
pub fn end(
    app: &mut App,
    tables: &mut Tables,
    line: &mut Cursor<'_>,
) -> std::result::Result<(), EventError> {
    let (mut sql_id, mut end, mut error) = (None, None, None);
    line.rest_of_line(|line, key| {
        match key {
            b"executionId" => sql_id = line.optional_integer()?,
            b"time" => end = line.optional_integer()?,
            b"errorMessage" => error = text(line)?.filter(|error| !error.is_empty()),
            _ => line.skip()?,
        }
        Ok(())
    })?;
    let sql_id = sql_id.ok_or(Malformed("the SQL execution has no id"))?;
    app.saw(end);
    let Some(execution) = app.sql.get(sql_id) else {
        return Ok(());
    };
    if execution.repeated(false) {
        app.ends.again("SparkListenerSQLExecutionEnd");
        return Ok(());
    }
    execution.end = end;
    execution.error = error;
    Ok(app.sql.ended(sql_id, app.index, &app.symbols, tables)?)
}
