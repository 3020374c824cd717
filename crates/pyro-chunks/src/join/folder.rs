//! A folder of chunks to a folder of files.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::format::{Chunk, Fault, MAX_OBJECT_BYTES, decode};
use crate::header::{Kind, Source};
use crate::join::stream::Joiner;
use crate::join::tally::Tally;
use crate::key::{chunk_key, sequence_of, stream_key};

/// Folders of a store are no deeper.
const MAX_DEPTH: usize = 16;

/// What was made of a store.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Joined {
    /// Every stream of which anything arrived.
    pub streams: Vec<JoinedStream>,
    /// Files in the store that are no chunks by their names.
    pub others_count: u64,
    /// Folders that could not be listed, with the reason.
    pub unlisted: Vec<String>,
}

/// One stream, and the file that was made of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JoinedStream {
    /// Its folder in the store, which is also the path of the file below the output folder.
    pub path: String,
    /// Whose it is; `None` if no chunk of it is sound.
    #[serde(flatten)]
    pub source: Option<Source>,
    /// Name of the file in the raw folder.
    pub file: Option<String>,
    /// How it was cut.
    pub kind: Option<Kind>,
    /// Why no file could be made.
    pub problem: Option<String>,
    /// Figures.
    #[serde(flatten)]
    pub tally: Tally,
}

/// Makes files of all chunks below `store` in `out`, each under a temporary name first.
///
/// # Errors
/// If the store cannot be listed. What is wrong with one stream is told with it.
pub fn join_folder(store: &Path, out: &Path) -> io::Result<Joined> {
    let mut joined = Joined::default();
    let mut streams = BTreeMap::new();
    fs::read_dir(store)?;
    list(store, "", 0, &mut streams, &mut joined);
    for (path, mut sequences) in streams {
        sequences.sort_unstable();
        let stream = Stream { store, path, out };
        joined.streams.push(stream.join(&sequences));
    }
    Ok(joined)
}

/// Finds the chunks; links are not followed.
fn list(
    folder: &Path,
    path: &str,
    depth: usize,
    streams: &mut BTreeMap<String, Vec<u64>>,
    joined: &mut Joined,
) {
    let listed = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries = match listed {
        Ok(entries) if depth <= MAX_DEPTH => entries,
        Ok(_) => return joined.unlisted.push(format!("{path}: too deep")),
        Err(error) => return joined.unlisted.push(format!("{path}: {error}")),
    };
    for entry in entries {
        let (name, kind) = (entry.file_name(), entry.file_type());
        let (Some(name), Ok(kind)) = (name.to_str(), kind) else {
            joined.others_count += 1;
            continue;
        };
        if kind.is_dir() {
            let path = match path {
                "" => name.to_owned(),
                path => format!("{path}/{name}"),
            };
            list(&entry.path(), &path, depth + 1, streams, joined);
        } else if let (true, Some(sequence)) = (kind.is_file(), sequence_of(name)) {
            streams.entry(path.to_owned()).or_default().push(sequence);
        } else {
            joined.others_count += 1;
        }
    }
}

struct Stream<'a> {
    store: &'a Path,
    path: String,
    out: &'a Path,
}

impl Stream<'_> {
    fn join(self, sequences: &[u64]) -> JoinedStream {
        let mut made = JoinedStream {
            path: self.path.clone(),
            source: None,
            file: None,
            kind: None,
            problem: None,
            tally: Tally::default(),
        };
        let newest = sequences.iter().rev();
        let newest = newest.map(|&sequence| (sequence, self.chunk(sequence)));
        let mut damaged = (0, None);
        let newest = newest
            .into_iter()
            .find_map(|(sequence, chunk)| match chunk {
                Ok(chunk) => Some((sequence, chunk)),
                Err(fault) => {
                    damaged.0 += 1;
                    damaged.1 = Some(fault.to_string());
                    None
                }
            });
        let Some((newest, chunk)) = newest else {
            (made.tally.damaged_count, made.tally.damage) = damaged;
            return made;
        };
        let kind = chunk.header.kind;
        made.source = Some(chunk.header.source.clone());
        made.file = Some(chunk.header.file.clone());
        made.kind = Some(kind);
        let written = if kind == Kind::Whole {
            // Older versions are of no interest, sound or not.
            made.tally = Tally {
                bytes_count: chunk.payload.len() as u64,
                chunks_count: sequences.iter().filter(|&&number| number <= newest).count() as u64,
                damaged_count: damaged.0,
                damage: damaged.1,
                ended: chunk.header.last,
                last_wall_ns: Some(chunk.header.cut_wall_ns),
                ..Tally::default()
            };
            self.write(|file| file.write_all(&chunk.payload))
        } else {
            drop(chunk);
            self.write(|file| self.append(sequences, file, &mut made.tally))
        };
        made.problem = written.err().map(|error| error.to_string());
        made
    }

    fn append(&self, sequences: &[u64], file: &mut File, tally: &mut Tally) -> io::Result<()> {
        let mut joiner = Joiner::default();
        for &sequence in sequences {
            let chunk = self.chunk(sequence);
            let taken = joiner.take(sequence, chunk.as_ref().map_err(Clone::clone));
            if let Some(length) = taken.cut_to {
                file.set_len(length)?;
                io::Seek::seek(file, io::SeekFrom::End(0))?;
            }
            if let Ok(chunk) = chunk {
                for range in taken.keep {
                    file.write_all(&chunk.payload[range])?;
                }
            }
        }
        *tally = joiner.tally;
        Ok(())
    }

    fn write(&self, content: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
        let path = self.out.join(&self.path);
        if let Some(folder) = path.parent() {
            self.make(folder)?;
        }
        let mut temporary = PathBuf::from(&path).into_os_string();
        temporary.push(".tmp");
        // A link that somebody left in its place is not followed.
        match fs::remove_file(&temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = File::create_new(&temporary)?;
        content(&mut file)
            .and_then(|()| fs::rename(&temporary, &path))
            .inspect_err(|_| drop(fs::remove_file(&temporary)))
    }

    /// Makes the folders between the output folder and this one; a link among them leads elsewhere.
    fn make(&self, folder: &Path) -> io::Result<()> {
        if folder == self.out {
            return fs::create_dir_all(folder);
        }
        if let Some(above) = folder.parent() {
            self.make(above)?;
        }
        match fs::symlink_metadata(folder) {
            Ok(about) if about.is_dir() => Ok(()),
            Ok(_) => Err(io::Error::other(format!("{}: no folder", folder.display()))),
            Err(_) => fs::create_dir(folder),
        }
    }

    fn chunk(&self, sequence: u64) -> Result<Chunk, Fault> {
        let path = self.store.join(chunk_key(&self.path, sequence));
        let unreadable = |_| Fault::Damaged("it cannot be read");
        let mut object = Vec::new();
        let file = File::open(path).map_err(unreadable)?;
        let mut file = file.take(MAX_OBJECT_BYTES as u64 + 1);
        file.read_to_end(&mut object).map_err(unreadable)?;
        let chunk = decode(&object)?;
        let header = &chunk.header;
        if stream_key(&header.source, &header.file, header.generation) != self.path {
            return Err(Fault::Damaged("it is of another stream"));
        }
        Ok(chunk)
    }
}

#[cfg(test)]
mod tests;
