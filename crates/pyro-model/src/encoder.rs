//! Batches to a Parquet file: of a table with many rows on a thread of its own, so that reading
//! the raw stream and encoding what was read go on at once.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};

use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;

use crate::cores::cores;
use crate::error::{Error, Result};
use crate::redaction::redacted;

/// Encoded bytes of a row group, at most (plus one batch).
const GROUP_BYTES: usize = 12 << 20;
/// Batches that may wait for the encoder; more would only take memory.
const WAITING: usize = 2;

/// Encodes the batches of one file in their order; what it writes does not depend on where it runs.
pub(crate) struct Encoder {
    path: PathBuf,
    place: Place,
}

enum Place {
    /// On the caller's thread; so many batches so far.
    Here(Box<ArrowWriter<File>>, usize),
    /// On a thread of its own.
    Beside(
        SyncSender<RecordBatch>,
        JoinHandle<Result<ArrowWriter<File>>>,
    ),
    /// Not at all: batches are redacted and dropped.
    Nowhere,
    /// The thread ended with an error, which was reported.
    Failed,
}

impl Encoder {
    /// Encodes with `writer` to the file at `path`.
    pub fn new(path: PathBuf, writer: ArrowWriter<File>) -> Self {
        Self {
            path,
            place: Place::Here(Box::new(writer), 0),
        }
    }

    /// Encodes nothing, for whoever wants the rows of readers to be made and no file.
    pub fn nowhere(path: PathBuf) -> Self {
        let place = Place::Nowhere;
        Self { path, place }
    }

    /// Encodes a batch, or hands it to the thread that does.
    ///
    /// # Errors
    /// If this batch or one before cannot be written.
    pub fn write(&mut self, batch: RecordBatch) -> Result<()> {
        let place = match std::mem::replace(&mut self.place, Place::Failed) {
            // Most tables have one batch: not worth a thread.
            Place::Here(writer, 1) if cores() > 1 => beside(&self.path, *writer),
            place => place,
        };
        self.place = match place {
            Place::Here(mut writer, batches) => {
                encode(&mut writer, &batch).map_err(|error| table_error(&self.path, error))?;
                Place::Here(writer, batches + 1)
            }
            Place::Beside(batches, thread) => {
                if batches.send(batch).is_err() {
                    // It reads on until the end, unless it fails.
                    return joined(thread).map(drop);
                }
                Place::Beside(batches, thread)
            }
            Place::Nowhere => {
                drop(redacted(&batch));
                Place::Nowhere
            }
            Place::Failed => return Err(failed(&self.path)),
        };
        Ok(())
    }

    /// Writes the file to its end.
    ///
    /// # Errors
    /// If anything could not be written.
    pub fn finish(self) -> Result<()> {
        let writer = match self.place {
            Place::Here(writer, _) => *writer,
            Place::Beside(batches, thread) => {
                drop(batches);
                joined(thread)?
            }
            Place::Nowhere => return Ok(()),
            Place::Failed => return Err(failed(&self.path)),
        };
        let file = writer.into_inner();
        file.map(drop)
            .map_err(|error| table_error(&self.path, error))
    }
}

/// Starts the thread; where none can be had, the caller's will do.
fn beside(path: &Path, writer: ArrowWriter<File>) -> Place {
    let (sender, receiver) = sync_channel(WAITING);
    let shared = Arc::new(Mutex::new(Some(writer)));
    let (its, path) = (shared.clone(), path.to_owned());
    let take = |shared: &Mutex<Option<ArrowWriter<File>>>| {
        let mut writer = shared.lock().expect("nobody panics while it is locked");
        writer.take().expect("taken once")
    };
    let name = "pyro-encoder".to_owned();
    match Builder::new()
        .name(name)
        .spawn(move || encode_all(path, take(&its), &receiver))
    {
        Ok(thread) => Place::Beside(sender, thread),
        Err(_) => Place::Here(Box::new(take(&shared)), 2),
    }
}

fn encode_all(
    path: PathBuf,
    mut writer: ArrowWriter<File>,
    batches: &Receiver<RecordBatch>,
) -> Result<ArrowWriter<File>> {
    for batch in batches {
        encode(&mut writer, &batch).map_err(|error| table_error(&path, error))?;
    }
    Ok(writer)
}

fn failed(path: &Path) -> Error {
    Error::Table(format!(
        "{}: it could not be written before",
        path.display()
    ))
}

fn joined(thread: JoinHandle<Result<ArrowWriter<File>>>) -> Result<ArrowWriter<File>> {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Encodes a batch; ends the row group if it is large enough.
fn encode(writer: &mut ArrowWriter<File>, batch: &RecordBatch) -> parquet::errors::Result<()> {
    // Here and nowhere else: every table of every source passes.
    writer.write(redacted(batch).as_ref().unwrap_or(batch))?;
    if writer.memory_size() >= GROUP_BYTES {
        writer.flush()?;
    }
    Ok(())
}

/// The error of a file, with its name.
pub(crate) fn table_error(path: &Path, error: parquet::errors::ParquetError) -> Error {
    Error::Table(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, Int64Array};
    use arrow_schema::{DataType, Field, Schema};

    fn batch(start: i64) -> RecordBatch {
        let values: ArrayRef = Arc::new(Int64Array::from_iter_values(start..start + 1000));
        let field = Field::new("value", DataType::Int64, false);
        RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![values]).unwrap()
    }

    fn written(path: &Path, moved: bool, batches: i64) -> Vec<u8> {
        let file = File::create(path).unwrap();
        let writer = ArrowWriter::try_new(file, batch(0).schema(), None).unwrap();
        let mut encoder = Encoder::new(path.to_owned(), writer);
        for start in 0..batches {
            if moved && let Place::Here(writer, 1) = encoder.place {
                encoder.place = beside(path, *writer);
            } else if !moved && let Place::Here(_, count) = &mut encoder.place {
                *count = 0;
            }
            encoder.write(batch(start)).unwrap();
        }
        assert_eq!(matches!(encoder.place, Place::Beside(..)), moved);
        encoder.finish().unwrap();
        std::fs::read(path).unwrap()
    }

    #[test]
    fn a_file_is_the_same_wherever_it_is_encoded() {
        let folder = tempfile::tempdir().unwrap();
        let [here, beside] =
            [false, true].map(|moved| written(&folder.path().join(moved.to_string()), moved, 40));
        assert!(here == beside && here.len() > 1000);
    }

    #[test]
    fn an_error_of_the_thread_is_reported_and_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table");
        File::create(&path).unwrap();
        // For reading only.
        let file = File::open(&path).unwrap();
        let writer = ArrowWriter::try_new(file, batch(0).schema(), None).unwrap();
        let encoder = Encoder {
            place: beside(&path, writer),
            path: path.clone(),
        };
        let told = encoder.finish().unwrap_err().to_string();
        assert!(told.contains(path.to_str().unwrap()), "{told}");
    }
}
