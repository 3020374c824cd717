//! Folded stacks of tables `samples`, `stacks` and `frames`.

use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use pyro_model::{Error, Result};
use pyro_stacks::FrameKind;
use pyro_stacks::folded::{
    Folded, FrameName, NameStyle, SequenceHash, Sequences, clean, write_name,
};
use rustc_hash::FxHashMap;

use crate::read_table::read_table;

/// Frame of samples whose stack is unknown.
const NO_STACK: &[u8] = b"[no stack]";

/// What to take of tables.
pub(super) struct TableOptions<'a> {
    /// Another file of samples.
    pub samples: Option<&'a str>,
    /// Event; `None`: of a file of samples all, of a table `cpu`.
    pub event: Option<&'a str>,
    /// Columns whose values go before the stack.
    pub by: &'a [String],
    /// How frames are named.
    pub style: NameStyle,
}

/// Sums the samples of the tables in a folder.
///
/// # Errors
/// If a table is missing, lacks a column or cannot be read.
pub(super) fn from_tables(
    folder: &Path,
    options: &TableOptions<'_>,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Folded> {
    let mut folded = Folded::default();
    let sums = sums(folder, options, &mut folded, go_on)?;
    let names = names(folder, options.style, &mut folded)?;
    let (stacks, numbers) = stacks(folder, &names)?;
    let no_stack = folded.name(NO_STACK);
    let mut stack = Vec::new();
    for ((before, id), weight) in sums.weights {
        stack.clear();
        stack.extend_from_slice(sums.before.get(before));
        match id.and_then(|id| numbers.get(&id)) {
            Some(&number) => stack.extend_from_slice(stacks.get(number)),
            None => stack.push(no_stack),
        }
        folded.add(&stack, weight);
    }
    Ok(folded)
}

/// Weights by what goes before the stack, and stack.
#[derive(Default)]
struct Sums {
    before: Sequences,
    weights: FxHashMap<(u32, Option<i32>), i64>,
}

fn sums(
    folder: &Path,
    options: &TableOptions<'_>,
    folded: &mut Folded,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Sums> {
    let path = options
        .samples
        .map_or_else(|| folder.join("samples.parquet"), Into::into);
    let event = options.event.or(if options.samples.is_none() {
        Some("cpu")
    } else {
        None
    });
    let mut columns = vec!["java_stack", "weight"];
    columns.extend(event.map(|_| "event"));
    columns.extend(options.by.iter().map(String::as_str));
    let mut sums = Sums::default();
    let mut before = Vec::new();
    let found = read_table(&path, &columns, |batch| {
        if !go_on() {
            return Err(Error::Interrupted);
        }
        let (stacks, weights) = (batch["java_stack"].as_ref(), batch["weight"].as_ref());
        let stacks = numbers(&path, "java_stack", stacks)?;
        let weights = numbers(&path, "weight", weights)?;
        let events = event.map(|_| batch["event"].as_string::<i32>());
        for row in 0..batch.num_rows() {
            if events.is_some_and(|events| Some(events.value(row)) != event) {
                continue;
            }
            before.clear();
            for column in options.by {
                before.push(folded.name(&value(column, &batch[column.as_str()], row)));
            }
            let hash = SequenceHash::of(&before);
            let (Ok(number) | Err(number)) = sums.before.number(&before, hash);
            let stack = stacks(row).and_then(|stack| i32::try_from(stack).ok());
            let sum = sums.weights.entry((number, stack)).or_default();
            *sum = sum.saturating_add(weights(row).unwrap_or(0));
        }
        Ok(())
    })?;
    present(found, &path)?;
    Ok(sums)
}

fn present(found: bool, path: &Path) -> Result<()> {
    if found {
        return Ok(());
    }
    let text = format!("{}: there is no such table", path.display());
    Err(Error::Input(text))
}

/// Reads a column of integers of either width.
fn numbers<'a>(
    path: &Path,
    column: &str,
    array: &'a dyn Array,
) -> Result<Box<dyn Fn(usize) -> Option<i64> + 'a>> {
    Ok(match array.data_type() {
        DataType::Int32 => {
            let array = array.as_primitive::<Int32Type>();
            Box::new(move |row| (!array.is_null(row)).then(|| i64::from(array.value(row))))
        }
        DataType::Int64 => {
            let array = array.as_primitive::<Int64Type>();
            Box::new(move |row| (!array.is_null(row)).then(|| array.value(row)))
        }
        other => {
            return Err(Error::Input(format!(
                "{}: column {column} is of type {other}, not of integers",
                path.display()
            )));
        }
    })
}

/// A value as a frame: `stage 5` of `stage_id`, a string as it is.
fn value(column: &str, array: &ArrayRef, row: usize) -> Vec<u8> {
    let label = column
        .strip_suffix("_id")
        .unwrap_or(column)
        .replace('_', " ");
    let mut text = if array.is_null(row) {
        format!("no {label}").into_bytes()
    } else {
        match array.data_type() {
            DataType::Utf8 => array.as_string::<i32>().value(row).as_bytes().to_vec(),
            DataType::Int32 => {
                format!("{label} {}", array.as_primitive::<Int32Type>().value(row)).into_bytes()
            }
            DataType::Int64 => {
                format!("{label} {}", array.as_primitive::<Int64Type>().value(row)).into_bytes()
            }
            other => format!("{label} of type {other}").into_bytes(),
        }
    };
    clean(&mut text);
    text
}

/// Names of frames, by their number.
fn names(folder: &Path, style: NameStyle, folded: &mut Folded) -> Result<FxHashMap<i32, u32>> {
    let mut names = FxHashMap::default();
    let path = folder.join("frames.parquet");
    let columns = [
        "frame_id",
        "class_name",
        "method",
        "line",
        "kind",
        "library",
    ];
    let mut text = Vec::new();
    let found = read_table(&path, &columns, |batch| {
        let string = |name: &str| batch[name].as_string::<i32>();
        let (classes, libraries) = (string("class_name"), string("library"));
        let (methods, kinds) = (string("method"), string("kind"));
        let int = |name: &str| batch[name].as_primitive::<Int32Type>();
        let (ids, lines) = (int("frame_id"), int("line"));
        for row in 0..batch.num_rows() {
            let kind = FrameKind::from_name(kinds.value(row));
            let place = if kind.is_native() { libraries } else { classes };
            let place = if place.is_null(row) {
                ""
            } else {
                place.value(row)
            };
            let frame = FrameName {
                place: place.into(),
                method: methods.value(row),
                line: (!lines.is_null(row)).then(|| lines.value(row)),
                kind,
            };
            text.clear();
            write_name(&frame, style, &mut text);
            names.insert(ids.value(row), folded.name(&text));
        }
        Ok(())
    })?;
    present(found, &path)?;
    Ok(names)
}

/// Stacks as names, root first, and which of them each id is.
fn stacks(folder: &Path, names: &FxHashMap<i32, u32>) -> Result<(Sequences, FxHashMap<i32, u32>)> {
    let (mut stacks, mut numbers) = (Sequences::default(), FxHashMap::default());
    let path = folder.join("stacks.parquet");
    let mut stack = Vec::new();
    let found = read_table(&path, &["stack_id", "frame_ids"], |batch: &RecordBatch| {
        let ids = batch["stack_id"].as_primitive::<Int32Type>();
        let lists = batch["frame_ids"].as_list::<i32>();
        let frames = lists.values().as_primitive::<Int32Type>().values();
        for row in 0..batch.num_rows() {
            let range =
                lists.value_offsets()[row] as usize..lists.value_offsets()[row + 1] as usize;
            stack.clear();
            stack.extend(frames[range].iter().filter_map(|frame| names.get(frame)));
            let (Ok(number) | Err(number)) = stacks.number(&stack, SequenceHash::of(&stack));
            numbers.insert(ids.value(row), number);
        }
        Ok(())
    })?;
    present(found, &path)?;
    Ok((stacks, numbers))
}
