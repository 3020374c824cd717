//! Wait classes: what a thread off its CPU waited for, by the rules of `schema/wait_classes.toml`.

use regex::Regex;
use serde::Deserialize;

use crate::patterns::Patterns;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "version")]
    _version: u32,
    #[serde(default)]
    blocked: Vec<String>,
    class: Vec<Class>,
    frames: Vec<FramesText>,
    rule: Vec<RuleText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Class {
    name: String,
    #[serde(rename = "doc")]
    _doc: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FramesText {
    class: String,
    #[serde(default)]
    fallback: bool,
    #[serde(rename = "match")]
    patterns: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleText {
    class: String,
    state: Option<Vec<String>>,
    io_wait: Option<bool>,
    syscall: Option<String>,
    kernel: Option<String>,
    frames: Option<Vec<String>>,
    role: Option<Vec<String>>,
    task: Option<bool>,
    paused: Option<bool>,
    #[serde(rename = "source")]
    _source: String,
    example: Example,
}

/// A moment that a rule is for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(not(test), expect(dead_code, reason = "tests hold each rule to it"))]
struct Example {
    state: String,
    io_wait: Option<bool>,
    #[serde(default)]
    syscall: String,
    #[serde(default)]
    kernel: String,
    #[serde(default)]
    java: String,
    #[serde(default)]
    role: String,
    #[serde(default)]
    task: bool,
    #[serde(default)]
    paused: bool,
}

/// What is known of a moment in which a thread was off its CPU.
#[derive(Debug, Clone, Copy, Default)]
pub struct Moment<'a> {
    /// State as in table `thread_states`.
    pub state: &'a str,
    /// The kernel counts it as waiting for I/O, where that is known.
    pub io_wait: Option<bool>,
    /// Name of the system call; empty where it is in none, or that is not known.
    pub syscall: &'a str,
    /// Symbols of the kernel stack, root first, joined by `;`; empty where unknown.
    pub kernel: &'a str,
    /// What its frames say, of [`Waits::frames_say`].
    pub frames: Option<u16>,
    /// Role of the thread.
    pub role: &'a str,
    /// It was running a task.
    pub task: bool,
    /// The JVM was stopped, by the collector or at a safepoint.
    pub paused: bool,
}

/// What frames say where none says anything.
const NOTHING: &str = "nothing";
/// Class of what no rule names.
pub(crate) const UNCLASSIFIED: &str = "unclassified";

struct Rule {
    class: usize,
    state: Option<Vec<String>>,
    io_wait: Option<bool>,
    syscall: Option<Regex>,
    kernel: Option<Regex>,
    frames: Option<Vec<String>>,
    role: Option<Vec<String>>,
    task: Option<bool>,
    paused: Option<bool>,
    #[cfg_attr(not(test), expect(dead_code, reason = "tests hold each rule to it"))]
    example: Example,
}

impl Rule {
    fn holds(&self, moment: &Moment<'_>, frames: &str) -> bool {
        let listed = |list: &Option<Vec<String>>, word: &str| {
            list.as_ref()
                .is_none_or(|list| list.iter().any(|known| known == word))
        };
        let matches = |pattern: &Option<Regex>, text: &str| {
            pattern.as_ref().is_none_or(|regex| regex.is_match(text))
        };
        let same = |wanted: Option<bool>, is: bool| wanted.is_none_or(|wanted| wanted == is);
        listed(&self.state, moment.state)
            && self
                .io_wait
                .is_none_or(|wanted| moment.io_wait == Some(wanted))
            && same(self.task, moment.task)
            && same(self.paused, moment.paused)
            && listed(&self.role, moment.role)
            && listed(&self.frames, frames)
            && matches(&self.syscall, moment.syscall)
            && matches(&self.kernel, moment.kernel)
    }
}

/// The rules of wait classes, compiled.
pub struct Waits {
    classes: Vec<String>,
    /// Class and `fallback` of each group of frame patterns.
    frames: Vec<(usize, bool)>,
    patterns: Patterns,
    blocked: Patterns,
    rules: Vec<Rule>,
}

impl Waits {
    /// Compiles the text of `wait_classes.toml`.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        let classes: Vec<String> = file.class.into_iter().map(|class| class.name).collect();
        let number = |name: &str| {
            classes
                .iter()
                .position(|known| known == name)
                .ok_or_else(|| format!("no class is called {name}"))
        };
        let frames = file
            .frames
            .iter()
            .map(|group| Ok((number(&group.class)?, group.fallback)))
            .collect::<Result<Vec<_>, String>>()?;
        let patterns = Patterns::new(file.frames.iter().map(|group| &group.patterns))
            .map_err(|error| error.to_string())?;
        let blocked =
            Patterns::new(std::iter::once(&file.blocked)).map_err(|error| error.to_string())?;
        let regex = |text: Option<String>| {
            text.map(|text| Regex::new(&text))
                .transpose()
                .map_err(|error| error.to_string())
        };
        let mut rules = Vec::with_capacity(file.rule.len());
        for rule in file.rule {
            for said in rule.frames.iter().flatten() {
                if said != NOTHING {
                    number(said)?;
                }
            }
            rules.push(Rule {
                class: number(&rule.class)?,
                state: rule.state,
                io_wait: rule.io_wait,
                syscall: regex(rule.syscall)?,
                kernel: regex(rule.kernel)?,
                frames: rule.frames,
                role: rule.role,
                task: rule.task,
                paused: rule.paused,
                example: rule.example,
            });
        }
        number(UNCLASSIFIED)?;
        Ok(Self {
            classes,
            frames,
            patterns,
            blocked,
            rules,
        })
    }

    /// What one frame says by itself, from its text ([`crate::Frame::text`]).
    pub fn frame(&self, text: &str) -> Option<u16> {
        self.patterns.first(text).map(|group| group as u16)
    }

    /// Whether a thread whose leaf frame this is was waiting, whatever a profiler called its state.
    pub fn blocked(&self, text: &str) -> bool {
        self.blocked.first(text).is_some()
    }

    /// What a stack's frames say, leaf first: the frame nearest the leaf; those of how a thread
    /// waits rather than for what (`fallback`) only where no other says more, in their order.
    pub fn frames_say(&self, leaf_first: impl Iterator<Item = Option<u16>>) -> Option<u16> {
        let mut fallback: Option<u16> = None;
        for said in leaf_first.flatten() {
            if !self.frames[usize::from(said)].1 {
                return Some(said);
            }
            fallback = Some(fallback.map_or(said, |known| known.min(said)));
        }
        fallback
    }

    /// Class by the frames alone, `unclassified` where they say nothing.
    pub fn class_of_frames(&self, said: Option<u16>) -> &str {
        said.map_or(UNCLASSIFIED, |said| {
            &self.classes[self.frames[usize::from(said)].0]
        })
    }

    /// Class of a moment: that of the first rule that holds, else `unclassified`.
    pub fn class(&self, moment: &Moment<'_>) -> &str {
        self.rule(moment)
            .map_or(UNCLASSIFIED, |rule| &self.classes[self.rules[rule].class])
    }

    /// Number of the first rule that holds.
    fn rule(&self, moment: &Moment<'_>) -> Option<usize> {
        let frames = moment
            .frames
            .map_or(NOTHING, |said| self.class_of_frames(Some(said)));
        self.rules
            .iter()
            .position(|rule| rule.holds(moment, frames))
    }
}

#[cfg(test)]
mod tests;
