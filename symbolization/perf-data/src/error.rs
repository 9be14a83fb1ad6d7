use std::path::{Path, PathBuf};

/// Why a recording could not be used: one line that names the file and says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It could not be read or unpacked.
    #[error(transparent)]
    File(#[from] kernel_symbols::Error),
    /// It is another kind of file than the one asked for.
    #[error(
        "{path} is neither a perf.data file nor text of perf script nor folded stacks ({found})"
    )]
    Kind {
        /// The file.
        path: PathBuf,
        /// What was seen instead.
        found: String,
    },
    /// It ends before what its headers promise.
    #[error("{path} is cut short ({what}): copy it again")]
    Truncated {
        /// The file.
        path: PathBuf,
        /// What is missing.
        what: String,
    },
    /// Its content contradicts itself.
    #[error("{path} is damaged ({what}): copy it or record it again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where it stops making sense.
        what: String,
    },
    /// It is sound, but this reader does not know it.
    #[error("{path}: {what}")]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What it is, and what to do.
        what: String,
    },
}

impl Error {
    pub(crate) fn truncated(path: &Path, what: impl ToString) -> Self {
        Error::Truncated {
            path: path.into(),
            what: what.to_string(),
        }
    }

    pub(crate) fn damaged(path: &Path, what: impl ToString) -> Self {
        Error::Damaged {
            path: path.into(),
            what: what.to_string(),
        }
    }

    pub(crate) fn unsupported(path: &Path, what: impl ToString) -> Self {
        Error::Unsupported {
            path: path.into(),
            what: what.to_string(),
        }
    }
}

/// What functions of this crate return.
pub type Result<T> = std::result::Result<T, Error>;
