//! `Stage Info`, as events about jobs and stages carry it.

use std::fmt::Write;

use serde::de::IgnoredAny;
use serde_json::Value;

use super::json::{Cursor, Malformed, Read, Text};

/// `Stage Info` of an event.
#[derive(Debug, Default)]
pub struct Info<'a> {
    /// Stage.
    pub stage_id: Option<i64>,
    /// Attempt, from 0.
    pub attempt: i64,
    /// Name.
    pub name: Option<Text<'a>>,
    /// Long call site.
    pub details: Option<Text<'a>>,
    /// Tasks announced.
    pub tasks: Option<i64>,
    /// Parent stages.
    pub parents: Vec<i64>,
    /// RDDs as a JSON array of `{id, name, scope}`.
    pub rdds: Option<String>,
    /// Submission, ms.
    pub submit: Option<i64>,
    /// Completion, ms.
    pub complete: Option<i64>,
    /// Why it failed.
    pub failure: Option<Text<'a>>,
}

/// A list of integers.
pub fn integers(line: &mut Cursor<'_>) -> Read<Vec<i64>> {
    let mut list = Vec::new();
    line.array(|line| {
        list.push(line.integer()?);
        Ok(())
    })?;
    Ok(list)
}

/// The number of a stage attempt, which is part of keys: one that no column holds is damage.
pub fn attempt(number: i64) -> Read<i64> {
    match i32::try_from(number) {
        Ok(number) => Ok(number.into()),
        Err(_) => Err(Malformed("a stage attempt is beyond 2^31")),
    }
}

/// Which stage attempt it is and when it was submitted.
pub fn brief<'a>(line: &mut Cursor<'a>) -> Read<Info<'a>> {
    let mut found = Info::default();
    line.object(|line, key| {
        match key {
            b"Stage ID" => found.stage_id = line.optional_integer()?,
            b"Stage Attempt ID" => found.attempt = attempt(line.optional_integer()?.unwrap_or(0))?,
            b"Submission Time" => found.submit = line.optional_integer()?,
            _ => line.skip()?,
        }
        Ok(())
    })?;
    Ok(found)
}

/// Everything a table needs.
pub fn info<'a>(line: &mut Cursor<'a>) -> Read<Info<'a>> {
    let mut found = Info::default();
    line.object(|line, key| {
        match key {
            b"Stage ID" => found.stage_id = line.optional_integer()?,
            b"Stage Attempt ID" => found.attempt = attempt(line.optional_integer()?.unwrap_or(0))?,
            b"Stage Name" => found.name = line.optional_string()?,
            b"Details" => found.details = line.optional_string()?,
            b"Number of Tasks" => found.tasks = line.optional_integer()?,
            b"Parent IDs" => found.parents = integers(line)?,
            b"RDD Info" => found.rdds = Some(rdds(line)?),
            b"Submission Time" => found.submit = line.optional_integer()?,
            b"Completion Time" => found.complete = line.optional_integer()?,
            b"Failure Reason" => found.failure = line.optional_string()?,
            _ => line.skip()?,
        }
        Ok(())
    })?;
    Ok(found)
}

/// `RDD Info`; a scope is Spark's own object, a string in the log.
fn rdds(line: &mut Cursor<'_>) -> Read<String> {
    let mut out = String::from("[");
    line.array(|line| {
        let (mut id, mut name, mut scope) = (None, None, None);
        line.object(|line, key| {
            match key {
                b"RDD ID" => id = line.optional_integer()?,
                b"Name" => name = line.optional_string()?,
                b"Scope" => scope = line.optional_string()?,
                _ => line.skip()?,
            }
            Ok(())
        })?;
        let name = name.map_or(Value::Null, |name| name.decode().into());
        let scope = scope.map(|scope| scope.decode());
        let scope = scope
            .as_deref()
            .filter(|scope| serde_json::from_str::<IgnoredAny>(scope).is_ok());
        if out.len() > 1 {
            out.push(',');
        }
        let id = id.map_or(Value::Null, Value::from);
        let _ = write!(
            out,
            "{{\"id\":{id},\"name\":{name},\"scope\":{}}}",
            scope.unwrap_or("null")
        );
        Ok(())
    })?;
    out.push(']');
    Ok(out)
}
