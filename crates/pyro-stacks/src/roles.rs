//! Roles of threads, from `schema/roles.toml`.

use serde::Deserialize;

use crate::patterns::Patterns;

#[derive(Deserialize)]
struct File {
    rule: Vec<Rule>,
}

#[derive(Deserialize)]
struct Rule {
    role: String,
    name: Option<String>,
    comm: Option<String>,
}

/// Role of a thread that no rule names.
pub(crate) const OTHER: &str = "other";

/// Thread names to roles.
#[derive(Debug)]
pub struct Roles {
    patterns: Patterns,
    names: Vec<String>,
}

impl Roles {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        let lists: Vec<Vec<String>> = file
            .rule
            .iter()
            .map(|rule| rule.name.iter().chain(&rule.comm).cloned().collect())
            .collect();
        let patterns = Patterns::new(lists.iter()).map_err(|error| error.to_string())?;
        Ok(Self {
            patterns,
            names: file.rule.into_iter().map(|rule| rule.role).collect(),
        })
    }

    /// Role of a thread with this name, the JVM's or the kernel's; `other` where no rule fits.
    pub fn of(&self, thread_name: &str) -> &str {
        self.patterns
            .first(thread_name)
            .map_or(OTHER, |rule| &self.names[rule])
    }
}
