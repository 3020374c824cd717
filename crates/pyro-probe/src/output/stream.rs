//! Arrow IPC streams that end in a whole batch whatever happens.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use arrow_ipc::writer::StreamWriter;
use pyro_model::Table;

use crate::sys;

/// Rows held before they are written at the latest.
const BATCH_ROWS: usize = 16 << 10;

/// Where a stream goes.
enum Target {
    /// To this path, once there is something to write.
    Later(PathBuf),
    File(File),
}

/// One table as an Arrow IPC stream file.
///
/// A batch is encoded in memory and written to the file at once. If that fails (full disk), the
/// file is cut back to the last whole batch, and all further rows are dropped and counted.
pub struct Stream<T> {
    /// Where to append the next row, one value to every column.
    pub rows: T,
    encoder: Option<StreamWriter<Vec<u8>>>,
    file: Target,
    good_bytes: u64,
    /// Rows in the file.
    pub written: u64,
    /// Rows that could not be written.
    pub dropped: u64,
    /// Why writing stopped.
    pub error: Option<String>,
}

impl<T: Table> Stream<T> {
    /// Creates the file and writes the schema.
    ///
    /// # Errors
    /// If the file cannot be created or written.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut stream = Self::later(path);
        stream.open(path)?;
        Ok(stream)
    }

    /// A stream whose file is created with its first rows.
    pub fn later(path: &Path) -> Self {
        Self {
            rows: T::default(),
            encoder: None,
            file: Target::Later(path.to_owned()),
            good_bytes: 0,
            written: 0,
            dropped: 0,
            error: None,
        }
    }

    fn open(&mut self, path: &Path) -> io::Result<()> {
        let encoder = StreamWriter::try_new(Vec::new(), &T::schema()).map_err(io::Error::other)?;
        self.encoder = Some(encoder);
        let file = sys::writable_regular(path)?;
        file.set_len(0)?;
        self.file = Target::File(file);
        self.write_out().inspect_err(|_| {
            // No file is better than one without a schema.
            let _ = std::fs::remove_file(path);
            self.file = Target::Later(path.to_owned());
        })
    }

    /// Writes the rows held if there are many.
    pub fn row_done(&mut self) {
        if self.rows.len() >= BATCH_ROWS {
            self.flush();
        }
    }

    /// Writes the rows held as one batch.
    pub fn flush(&mut self) {
        let count = self.rows.len() as u64;
        if count == 0 {
            return;
        }
        match self.encode_and_write() {
            Ok(()) => self.written += count,
            Err(error) => {
                self.dropped += count;
                self.stop(error);
            }
        }
    }

    fn encode_and_write(&mut self) -> io::Result<()> {
        let batch = self.rows.finish().map_err(io::Error::other)?;
        if let (Target::Later(path), None) = (&self.file, &self.error) {
            self.open(&path.clone())?;
        }
        let Some(encoder) = self.encoder.as_mut() else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        encoder.write(&batch).map_err(io::Error::other)?;
        // The next batch has all its dictionaries again: it can be read where this one got lost.
        let next = StreamWriter::try_new(Vec::new(), &T::schema()).map_err(io::Error::other)?;
        self.write_out()?;
        let next = self.encoder.insert(next);
        next.get_mut().clear();
        Ok(())
    }

    fn write_out(&mut self) -> io::Result<()> {
        let (Some(encoder), Target::File(file)) = (self.encoder.as_mut(), &mut self.file) else {
            return Ok(());
        };
        file.write_all(encoder.get_ref())?;
        self.good_bytes += encoder.get_ref().len() as u64;
        encoder.get_mut().clear();
        Ok(())
    }

    fn stop(&mut self, error: io::Error) {
        self.encoder = None;
        if self.error.is_none() {
            self.error = Some(error.to_string());
            if let Target::File(file) = &mut self.file {
                let _ = file.set_len(self.good_bytes).and_then(|()| file.rewind());
            }
        }
    }

    /// Writes the rows held and the mark of a stream that ended in order.
    pub fn finish(&mut self) {
        self.flush();
        if let Some(encoder) = self.encoder.as_mut() {
            let ended = encoder
                .finish()
                .map_err(io::Error::other)
                .and_then(|()| self.write_out());
            if let Err(error) = ended {
                self.stop(error);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_ipc::reader::StreamReader;
    use pyro_model::OsSeriesBuilder;

    fn fill(stream: &mut Stream<OsSeriesBuilder>, from: i64, to: i64) {
        for t in from..to {
            stream.rows.host.append_value("h");
            stream.rows.t_mono_ns.append_value(t);
            stream.rows.scope.append_value(format!("process/{}", t % 3));
            stream.rows.name.append_value("cpu_ns");
            stream.rows.value.append_value(t * 2);
            stream.row_done();
        }
    }

    fn rows(path: &Path) -> usize {
        let reader = StreamReader::try_new(File::open(path).unwrap(), None).unwrap();
        reader.map(|batch| batch.unwrap().num_rows()).sum()
    }

    #[test]
    fn what_was_flushed_opens_before_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.arrows");
        let mut stream = Stream::<OsSeriesBuilder>::create(&path).unwrap();
        assert_eq!(rows(&path), 0);
        fill(&mut stream, 0, 10);
        stream.flush();
        fill(&mut stream, 10, 20);
        assert_eq!(rows(&path), 10);
        stream.finish();
        assert_eq!((rows(&path), stream.written, stream.dropped), (20, 20, 0));
        let bytes = std::fs::read(&path).unwrap();
        assert!(
            bytes.ends_with(&[255, 255, 255, 255, 0, 0, 0, 0]),
            "mark of the end"
        );
    }

    #[test]
    fn a_batch_can_be_read_without_those_before_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.arrows");
        let mut stream = Stream::<OsSeriesBuilder>::create(&path).unwrap();
        let mut ends = vec![stream.good_bytes as usize];
        for _ in 0..3 {
            fill(&mut stream, 0, 10);
            stream.flush();
            ends.push(stream.good_bytes as usize);
        }
        stream.finish();
        let bytes = std::fs::read(&path).unwrap();
        let without = [&bytes[..ends[0]], &bytes[ends[2]..]].concat();
        std::fs::write(&path, without).unwrap();
        assert_eq!(rows(&path), 10);
    }

    #[test]
    fn many_rows_are_written_without_being_asked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.arrows");
        let mut stream = Stream::<OsSeriesBuilder>::create(&path).unwrap();
        fill(&mut stream, 0, BATCH_ROWS as i64 + 5);
        assert_eq!((rows(&path), stream.rows.len()), (BATCH_ROWS, 5));
    }

    #[test]
    fn a_link_is_not_written_through_and_an_earlier_stream_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (precious, path) = (
            folder.path().join("precious"),
            folder.path().join("s.arrows"),
        );
        std::fs::write(&precious, "precious".repeat(1000)).unwrap();
        std::os::unix::fs::symlink(&precious, &path).unwrap();
        assert!(Stream::<OsSeriesBuilder>::create(&path).is_err());
        let mut stream = Stream::<OsSeriesBuilder>::later(&path);
        fill(&mut stream, 0, 10);
        stream.finish();
        assert_eq!((stream.written, stream.dropped), (0, 10));
        assert!(stream.error.unwrap().contains("a link"));
        assert_eq!(std::fs::metadata(&precious).unwrap().len(), 8000);
        std::fs::copy(&precious, folder.path().join("copy")).unwrap();
        std::fs::rename(folder.path().join("copy"), &path).unwrap();
        let mut stream = Stream::<OsSeriesBuilder>::create(&path).unwrap();
        fill(&mut stream, 0, 3);
        stream.finish();
        assert_eq!(rows(&path), 3);
    }

    #[test]
    fn a_full_device_drops_rows_and_counts_them() {
        let Ok(full) = File::options().write(true).open("/dev/full") else {
            panic!("/dev/full is part of every Linux system");
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.arrows");
        let mut stream = Stream::<OsSeriesBuilder>::create(&path).unwrap();
        fill(&mut stream, 0, 10);
        stream.flush();
        stream.file = Target::File(full);
        fill(&mut stream, 10, 15);
        stream.flush();
        fill(&mut stream, 15, 18);
        stream.finish();
        assert_eq!((stream.written, stream.dropped), (10, 8));
        assert!(
            stream
                .error
                .as_deref()
                .unwrap_or_default()
                .contains("No space left")
        );
        assert_eq!(rows(&path), 10);
    }
}
