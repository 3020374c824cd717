//! Wait classes of distinct moments in which threads were off their CPU.
//!
//! What is known of a moment repeats: a run has as many distinct ones as it has distinct pairs of
//! stacks, whatever its length. The store lists them, each with a number, and gets a class for each.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, StringArray};
use pyro_model::{Error, IngestReport, Result};
use pyro_stacks::{Moment, Rules, Waits};
use rustc_hash::FxHashMap;

use crate::read_table::read_table;

const COLUMNS: [&str; 9] = [
    "id", "state", "io_wait", "syscall", "kernel", "frames", "role", "task", "paused",
];

/// Reads distinct moments from the Parquet file `moments` and writes lines `id,class` to `out`,
/// through a temporary name, under a heading.
///
/// Columns: `id` (64 bits), `state`, `io_wait`, `syscall`, `kernel` (symbols, root first, joined by
/// `;`), `frames` (texts as patterns see them, leaf first, joined by line ends), `role`, `task`,
/// `paused`. What is null is unknown.
///
/// # Errors
/// If a file cannot be read or written, or lacks a column.
pub fn classify_waits(moments: &str, out: &str) -> Result<IngestReport> {
    let waits = Rules::embedded().waits();
    let (path, target) = (Path::new(moments), Path::new(out));
    let temporary = target.with_extension("tmp");
    let broken = |error| Error::io(&temporary, error);
    let mut file = BufWriter::new(File::create(&temporary).map_err(broken)?);
    writeln!(file, "id,class").map_err(broken)?;
    let mut known: FxHashMap<String, Option<u16>> = FxHashMap::default();
    let (mut rows, mut unclassified) = (0_u64, 0_u64);
    let found = read_table(path, &COLUMNS, |batch| {
        let ids = batch["id"].as_primitive::<Int64Type>();
        let text = |name: &str| batch[name].as_string::<i32>();
        let (states, syscalls, kernels) = (text("state"), text("syscall"), text("kernel"));
        let (stacks, roles) = (text("frames"), text("role"));
        let flag = |name: &str| batch[name].as_boolean();
        let (io_waits, tasks, pauses) = (flag("io_wait"), flag("task"), flag("paused"));
        for row in 0..batch.num_rows() {
            let class = waits.class(&Moment {
                state: word(states, row),
                io_wait: (!io_waits.is_null(row)).then(|| io_waits.value(row)),
                syscall: word(syscalls, row),
                kernel: word(kernels, row),
                frames: said(waits, word(stacks, row), &mut known),
                role: word(roles, row),
                task: !tasks.is_null(row) && tasks.value(row),
                paused: !pauses.is_null(row) && pauses.value(row),
            });
            rows += 1;
            unclassified += u64::from(class == "unclassified");
            writeln!(file, "{},{class}", ids.value(row)).map_err(broken)?;
        }
        Ok(())
    })?;
    if !found {
        return Err(Error::Input(format!("{moments}: there is no such file")));
    }
    file.flush().map_err(broken)?;
    drop(file);
    std::fs::rename(&temporary, target).map_err(broken)?;
    let mut report = IngestReport::default();
    report.stats.insert("moments", rows.into());
    report.stats.insert("unclassified", unclassified.into());
    Ok(report)
}

/// A text, empty where it is null.
fn word(array: &StringArray, row: usize) -> &str {
    if array.is_null(row) {
        ""
    } else {
        array.value(row)
    }
}

/// What a stack's frames say; each distinct frame is looked at once.
fn said(waits: &Waits, stack: &str, known: &mut FxHashMap<String, Option<u16>>) -> Option<u16> {
    let frames = stack.split('\n').filter(|frame| !frame.is_empty());
    waits.frames_say(frames.map(|frame| {
        match known.get(frame) {
            Some(said) => *said,
            None => *known
                .entry(frame.to_owned())
                .or_insert_with(|| waits.frame(frame)),
        }
    }))
}
