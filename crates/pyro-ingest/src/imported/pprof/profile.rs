//! The dictionaries of a profile.

use std::collections::HashMap;

use prost::Message;

use super::fields::{Content, Fields};
use super::messages::{Function, Location, Mapping, ValueType};

/// What samples refer to. Dictionaries may stand behind the samples that need them.
#[derive(Default)]
pub struct Profile<'a> {
    strings: Vec<&'a str>,
    /// Types of values.
    pub types: Vec<ValueType>,
    /// Functions by id.
    pub functions: HashMap<u64, Function>,
    /// Locations by id.
    pub locations: HashMap<u64, Location>,
    /// Files of mappings by id.
    pub mappings: HashMap<u64, i64>,
    /// Start, Unix time; 0 where it is not known.
    pub time_ns: i64,
    /// Length; 0 where it is not known.
    pub duration_ns: i64,
}

impl<'a> Profile<'a> {
    /// Reads everything but samples.
    ///
    /// # Errors
    /// At which byte the profile is damaged, and how.
    pub fn read(bytes: &'a [u8]) -> Result<Self, (usize, String)> {
        let mut profile = Self::default();
        for field in Fields::new(bytes) {
            let field =
                field.map_err(|at| (at, "a field breaks off or has an unknown type".to_owned()))?;
            let at = field.at;
            let damaged = |error: prost::DecodeError| (at, error.to_string());
            match (field.tag, field.content) {
                (1, Content::Bytes(message)) => {
                    profile
                        .types
                        .push(ValueType::decode(message).map_err(damaged)?);
                }
                (3, Content::Bytes(message)) => {
                    let mapping = Mapping::decode(message).map_err(damaged)?;
                    profile.mappings.insert(mapping.id, mapping.file);
                }
                (4, Content::Bytes(message)) => {
                    let location = Location::decode(message).map_err(damaged)?;
                    profile.locations.insert(location.id, location);
                }
                (5, Content::Bytes(message)) => {
                    let function = Function::decode(message).map_err(damaged)?;
                    profile.functions.insert(function.id, function);
                }
                (6, Content::Bytes(text)) => {
                    let text = std::str::from_utf8(text).map_err(|error| {
                        (at + error.valid_up_to(), "text is not UTF-8".to_owned())
                    })?;
                    profile.strings.push(text);
                }
                (9, Content::Number(time)) => profile.time_ns = time as i64,
                (10, Content::Number(duration)) => profile.duration_ns = duration as i64,
                _ => {}
            }
        }
        if profile.types.is_empty() || profile.strings.first() != Some(&"") {
            let what = "there is no type of values, or no string table that begins with \"\"";
            return Err((0, what.to_owned()));
        }
        Ok(profile)
    }

    /// A text of the string table.
    ///
    /// # Errors
    /// If it has no such text.
    pub fn text(&self, index: i64) -> Result<&'a str, String> {
        let found = usize::try_from(index)
            .ok()
            .and_then(|at| self.strings.get(at));
        let none = || {
            format!(
                "string {index} is missing: there are {}",
                self.strings.len()
            )
        };
        found.copied().ok_or_else(none)
    }
}
