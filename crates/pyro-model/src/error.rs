//! What can go wrong while tables are written.

/// A failure of the disk, of the input, or a row that breaks the schema.
#[derive(Debug)]
pub enum Error {
    /// A file could not be read or written.
    Io {
        /// The file or folder concerned.
        path: std::path::PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The input is not what it is said to be; the text says why, where and what to do.
    Input(String),
    /// Rows do not fit their schema, or the Parquet writer failed.
    Table(String),
    /// The caller asked to stop (Ctrl-C).
    Interrupted,
}

impl Error {
    /// An I/O error at `path`.
    pub fn io(path: impl Into<std::path::PathBuf>, source: std::io::Error) -> Self {
        Self::Io {
            path: path.into(),
            source,
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Input(text) | Self::Table(text) => f.write_str(text),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for Error {}

impl From<arrow_schema::ArrowError> for Error {
    fn from(error: arrow_schema::ArrowError) -> Self {
        Self::Table(error.to_string())
    }
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
