//! Events about the application itself and its environment.

use pyro_model::Result;

use super::event_error::EventError;
use crate::eventlog::json::{Cursor, Malformed, Read};
use crate::eventlog::properties::text;
use crate::eventlog::state::{App, Facts};
use crate::eventlog::tables::{Tables, time_ns};

/// `SparkListenerLogStart`.
pub fn log_start(app: &mut App, line: &mut Cursor<'_>) -> std::result::Result<(), EventError> {
    let mut version = None;
    line.rest_of_line(|line, key| {
        match key {
            b"Spark Version" => version = text(line)?,
            _ => line.skip()?,
        }
        Ok(())
    })?;
    app.facts.spark_version = version.or(app.facts.spark_version.take());
    Ok(())
}

/// `SparkListenerApplicationStart`.
pub fn application_start(
    app: &mut App,
    line: &mut Cursor<'_>,
) -> std::result::Result<(), EventError> {
    let mut facts = Facts {
        started: true,
        ..Facts::default()
    };
    line.rest_of_line(|line, key| {
        match key {
            b"App ID" => facts.id = text(line)?,
            b"App Attempt ID" => facts.attempt = text(line)?,
            b"App Name" => facts.name = text(line)?,
            b"User" => facts.user = text(line)?,
            b"Timestamp" => facts.start = line.optional_integer()?,
            _ => line.skip()?,
        }
        Ok(())
    })?;
    app.saw(facts.start);
    let known = std::mem::take(&mut app.facts);
    if known.started {
        if (&known.id, &known.attempt, known.start) == (&facts.id, &facts.attempt, facts.start) {
            app.ends.again("SparkListenerApplicationStart");
        } else {
            app.ends.other_application();
        }
    }
    app.facts = Facts {
        id: facts.id,
        attempt: facts.attempt,
        name: facts.name,
        user: facts.user,
        start: facts.start,
        started: true,
        ..known
    };
    Ok(())
}

/// `SparkListenerApplicationEnd`.
pub fn application_end(
    app: &mut App,
    line: &mut Cursor<'_>,
) -> std::result::Result<(), EventError> {
    let mut end = None;
    line.rest_of_line(|line, key| {
        match key {
            b"Timestamp" => end = line.optional_integer()?,
            _ => line.skip()?,
        }
        Ok(())
    })?;
    app.saw(end);
    app.facts.end = end;
    app.facts.ended = true;
    Ok(())
}

/// `SparkListenerEnvironmentUpdate`; a later one replaces what it names.
pub fn environment(app: &mut App, line: &mut Cursor<'_>) -> std::result::Result<(), EventError> {
    let (mut java, mut scala, mut conf, mut system) = (None, None, None, None);
    line.rest_of_line(|line, key| {
        match key {
            b"JVM Information" if line.at_object() => line.object(|line, key| {
                match key {
                    b"Java Version" => java = text(line)?,
                    b"Scala Version" => scala = text(line)?,
                    _ => line.skip()?,
                }
                Ok(())
            })?,
            b"Spark Properties" => conf = object(line)?,
            b"System Properties" => system = object(line)?,
            _ => line.skip()?,
        }
        Ok(())
    })?;
    let facts = &mut app.facts;
    facts.java_version = java.or(facts.java_version.take());
    let scala = scala.map(|text| {
        text.strip_prefix("version ")
            .map(str::to_owned)
            .unwrap_or(text)
    });
    facts.scala_version = scala.or(facts.scala_version.take());
    if let Some(conf) = conf {
        // What the user calls secret is so in tables and raw files too.
        let pattern = |name: &str| conf[name].as_str();
        let known = pyro_model::learn(
            pattern("spark.redaction.regex"),
            pattern("spark.redaction.string.regex"),
        );
        facts.secrets_unknown = !known;
        facts.master = conf["spark.master"]
            .as_str()
            .map(str::to_owned)
            .or(facts.master.take());
        facts.spark_conf = Some(conf.to_string());
    }
    facts.system_properties = system
        .map(|system| system.to_string())
        .or(facts.system_properties.take());
    Ok(())
}

/// A whole object, checked in full; anything else is nothing.
fn object(line: &mut Cursor<'_>) -> Read<Option<serde_json::Value>> {
    let raw = line.raw()?;
    match serde_json::from_str(&String::from_utf8_lossy(raw)) {
        Ok(value @ serde_json::Value::Object(_)) => Ok(Some(value)),
        Ok(_) => Ok(None),
        Err(_) => Err(Malformed("a property list is not JSON")),
    }
}

/// Writes the application.
///
/// # Errors
/// If the row cannot be written.
pub fn finish(app: &App, files: &[String], bytes: u64, tables: &mut Tables) -> Result<()> {
    let facts = &app.facts;
    let rows = &mut tables.apps.rows;
    rows.app_index.append_value(app.index);
    rows.app_id.append_option(facts.id.as_deref());
    rows.app_attempt.append_option(facts.attempt.as_deref());
    rows.app_name.append_option(facts.name.as_deref());
    rows.user.append_option(facts.user.as_deref());
    rows.spark_version
        .append_option(facts.spark_version.as_deref());
    rows.java_version
        .append_option(facts.java_version.as_deref());
    rows.scala_version
        .append_option(facts.scala_version.as_deref());
    rows.master.append_option(facts.master.as_deref());
    rows.start_wall_ns.append_option(time_ns(facts.start));
    rows.end_wall_ns.append_option(time_ns(facts.end));
    rows.first_event_wall_ns.append_option(time_ns(app.first));
    rows.last_event_wall_ns.append_option(time_ns(app.last));
    rows.spark_conf.append_option(facts.spark_conf.as_deref());
    rows.system_properties
        .append_option(facts.system_properties.as_deref());
    rows.source_files
        .append_value(serde_json::to_string(files).expect("strings always serialise"));
    rows.events_count.append_value(app.events as i64);
    rows.uncompressed_bytes.append_value(bytes as i64);
    tables.apps.row_done()
}
