//! From tables or text to folded text and static flame graphs.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use pyro_model::{Error, IngestReport, Result};
use pyro_stacks::folded::perf_script::{self, PerfScript};
use pyro_stacks::folded::{Folded, NameStyle, collapsed};
use pyro_stacks::svg::{self, SvgOptions};
use serde::Deserialize;

use super::from_tables::{TableOptions, from_tables};
use super::source::{Watched, error};

/// What a source is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// A folder of tables.
    #[default]
    Tables,
    /// Collapsed stacks.
    Folded,
    /// The text of `perf script`.
    PerfScript,
}

/// What to take of a source, and how frames are named.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FoldOptions {
    /// What the source is: `tables`, `folded`, `perf-script`.
    format: Format,
    /// Event; without it `cpu` of tables, the first of `perf script`.
    event: Option<String>,
    /// Of tables: another file of samples, such as a selection. It needs columns `java_stack` and
    /// `weight`, those of `by`, and `event` unless all its samples count.
    samples: Option<String>,
    /// Of tables: columns whose values go before the stack, outermost first.
    by: Vec<String>,
    /// Of `perf script`: each sample counts 1, whatever its period.
    count: bool,
    /// Names say how a frame was run: `_[j]`, `_[1]`, `_[0]`, `_[i]`, `_[k]`.
    annotate: bool,
    /// Names include the source line.
    lines: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RenderOptions {
    source: FoldOptions,
    svg: SvgOptions,
}

/// Writes a source (`FoldOptions` as JSON) as folded text: a sorted line for each distinct stack.
///
/// # Errors
/// If options or source are not what they should be, or the disk fails.
pub fn fold(
    source: &str,
    out: &str,
    options: &str,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<IngestReport> {
    let options: FoldOptions = parse(options)?;
    let folded = read(source, &options, go_on)?;
    replace(out, |file| folded.write(file))?;
    Ok(report(&folded))
}

/// Draws a source as a flame graph: one SVG file that needs no other. Options are JSON:
/// `{"source": {…as for fold…}, "svg": {…}}`.
///
/// # Errors
/// As [`fold`]; and if there is no stack to draw.
pub fn render_svg(
    source: &str,
    out: &str,
    options: &str,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<IngestReport> {
    let mut options: RenderOptions = parse(options)?;
    // Colours show how frames were run.
    options.source.annotate = true;
    let folded = read(source, &options.source, go_on)?;
    if folded.total() <= 0 {
        return Err(Error::Input(format!(
            "{source}: no stack with a weight, so there is nothing to draw"
        )));
    }
    let mut boxes = 0;
    replace(out, |file| {
        boxes = svg::write(&folded, &options.svg, file)?;
        Ok(())
    })?;
    let mut report = report(&folded);
    report.stats.insert("boxes", boxes.into());
    Ok(report)
}

fn parse<'a, T: Deserialize<'a>>(options: &'a str) -> Result<T> {
    serde_json::from_str(options).map_err(|error| Error::Input(format!("options: {error}")))
}

fn report(folded: &Folded) -> IngestReport {
    let mut report = IngestReport::default();
    report.stats.insert("stacks", folded.len().into());
    report.stats.insert("names", folded.names_count().into());
    report.stats.insert("weight", folded.total().into());
    report
}

fn read(source: &str, options: &FoldOptions, go_on: &mut dyn FnMut() -> bool) -> Result<Folded> {
    let style = NameStyle {
        annotate: options.annotate,
        lines: options.lines,
    };
    let mut folded = Folded::default();
    let done = match options.format {
        Format::Tables => {
            let options = TableOptions {
                samples: options.samples.as_deref(),
                event: options.event.as_deref(),
                by: &options.by,
                style,
            };
            return from_tables(Path::new(source), &options, go_on);
        }
        Format::Folded => collapsed::read(Watched::open(source, go_on)?, &mut folded).map(|_| ()),
        Format::PerfScript => {
            let mut script = PerfScript::new(Watched::open(source, go_on)?);
            let event = options.event.as_deref();
            perf_script::fold(&mut script, event, options.count, style, &mut folded)
        }
    };
    done.map_err(|problem| error(source, problem))?;
    Ok(folded)
}

/// Writes a file under a temporary name, then gives it its own.
fn replace(
    path: &str,
    write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> Result<()> {
    let temporary = format!("{path}.tmp");
    let written = File::create(&temporary).and_then(|file| {
        let mut file = BufWriter::with_capacity(1 << 18, file);
        write(&mut file)?;
        file.flush()?;
        std::fs::rename(&temporary, path)
    });
    written.map_err(|error| {
        // What could not be written whole is not left behind.
        let _ = std::fs::remove_file(&temporary);
        Error::io(path, error)
    })
}
