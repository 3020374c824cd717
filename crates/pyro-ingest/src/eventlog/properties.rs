//! Local properties of jobs and stages.

use super::json::{Cursor, Read, parse_integer};

/// The properties that tables have columns for.
#[derive(Debug, Clone, Default)]
pub struct Properties {
    /// `spark.sql.execution.id`.
    pub sql_id: Option<i64>,
    /// `spark.jobGroup.id`.
    pub job_group: Option<String>,
    /// `spark.job.description`.
    pub description: Option<String>,
    /// `pyrometer.iteration`.
    pub iteration: Option<i32>,
    /// `pyrometer.warmup`.
    pub warmup: Option<bool>,
}

/// Reads a `Properties` object or null.
pub fn properties(line: &mut Cursor<'_>) -> Read<Properties> {
    let mut found = Properties::default();
    if line.null() {
        return Ok(found);
    }
    line.object(|line, key| {
        match key {
            b"spark.sql.execution.id" => found.sql_id = line.loose_integer()?,
            b"spark.jobGroup.id" => found.job_group = text(line)?,
            b"spark.job.description" => found.description = text(line)?,
            b"pyrometer.iteration" => {
                found.iteration = line
                    .optional_string()?
                    .and_then(|text| parse_integer(text.raw))
                    .and_then(|number| number.try_into().ok());
            }
            b"pyrometer.warmup" => {
                found.warmup = line.optional_string()?.map(|text| text.raw == b"true")
            }
            _ => line.skip()?,
        }
        Ok(())
    })?;
    Ok(found)
}

/// An owned string or null.
pub fn text(line: &mut Cursor<'_>) -> Read<Option<String>> {
    Ok(line
        .optional_string()?
        .map(|text| text.decode().into_owned()))
}
