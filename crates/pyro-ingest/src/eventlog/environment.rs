//! The application itself, its environment and its executors.

use std::collections::BTreeMap;

use pyro_model::Result;

use super::app::{App, Fail};
use super::json::{Bad, Cursor, Read, Text};
use super::properties::text;
use super::tables::{Tables, time_ns};

/// Facts about the application, for table `apps`.
#[derive(Debug, Default)]
pub struct Facts {
    /// Application id.
    pub id: Option<String>,
    attempt: Option<String>,
    name: Option<String>,
    user: Option<String>,
    spark_version: Option<String>,
    java_version: Option<String>,
    scala_version: Option<String>,
    master: Option<String>,
    /// There was a start event.
    pub started: bool,
    /// There was an end event.
    pub ended: bool,
    start: Option<i64>,
    end: Option<i64>,
    spark_conf: Option<String>,
    system_properties: Option<String>,
}

/// An executor, for table `executors`.
#[derive(Debug, Default)]
pub struct Executor {
    host: Option<String>,
    cores: Option<i64>,
    add: Option<i64>,
    remove: Option<i64>,
    remove_reason: Option<String>,
    max_memory: Option<i64>,
    resource_profile: Option<i64>,
    peaks: BTreeMap<String, i64>,
}

/// `SparkListenerLogStart`.
pub fn log_start(app: &mut App, line: &mut Cursor<'_>) -> std::result::Result<(), Fail> {
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
pub fn application_start(app: &mut App, line: &mut Cursor<'_>) -> std::result::Result<(), Fail> {
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
pub fn application_end(app: &mut App, line: &mut Cursor<'_>) -> std::result::Result<(), Fail> {
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
pub fn environment(app: &mut App, line: &mut Cursor<'_>) -> std::result::Result<(), Fail> {
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
        Err(_) => Err(Bad("a property list is not JSON")),
    }
}

/// `SparkListenerExecutorAdded`.
pub fn executor_added(app: &mut App, line: &mut Cursor<'_>) -> std::result::Result<(), Fail> {
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
    executor.add = found.add.or(executor.add);
    executor.host = found.host.or(executor.host.take());
    executor.cores = found.cores.or(executor.cores);
    executor.resource_profile = found.resource_profile.or(executor.resource_profile);
    Ok(())
}

/// `SparkListenerExecutorRemoved`.
pub fn executor_removed(app: &mut App, line: &mut Cursor<'_>) -> std::result::Result<(), Fail> {
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
pub fn block_manager_added(app: &mut App, line: &mut Cursor<'_>) -> std::result::Result<(), Fail> {
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
) -> std::result::Result<(), Fail> {
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
    let id = id.ok_or(Bad("the executor has no id"))?;
    Ok(app.executors.entry(id).or_default())
}

/// Writes the executors and the application.
pub fn finish(app: &App, files: &[String], bytes: u64, tables: &mut Tables) -> Result<()> {
    for (id, executor) in &app.executors {
        let peaks =
            serde_json::to_string(&executor.peaks).expect("strings and integers always serialise");
        let rows = &mut tables.executors.rows;
        rows.app_index.append_value(app.index);
        rows.executor_id.append_value(id);
        rows.host.append_option(executor.host.as_deref());
        rows.cores_count
            .append_option(executor.cores.map(|cores| cores as i32));
        rows.add_wall_ns.append_option(time_ns(executor.add));
        rows.remove_wall_ns.append_option(time_ns(executor.remove));
        rows.remove_reason
            .append_option(executor.remove_reason.as_deref());
        rows.max_memory_bytes.append_option(executor.max_memory);
        rows.resource_profile_id
            .append_option(executor.resource_profile.map(|id| id as i32));
        rows.peak_metrics
            .append_option(Some(peaks).filter(|_| !executor.peaks.is_empty()));
        tables.executors.row_done()?;
    }
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
