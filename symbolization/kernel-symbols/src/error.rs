use std::path::{Path, PathBuf};

/// Why a file could not be used: one line that names the file and says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused to open, map or read it.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is another kind of file than the one asked for.
    #[error("{path} is not {expected} ({found}): {advice}")]
    Kind {
        /// The file.
        path: PathBuf,
        /// What was expected: "an ELF file".
        expected: &'static str,
        /// What was seen instead.
        found: String,
        /// What to do.
        advice: &'static str,
    },
    /// It is the right kind of file, but its content contradicts itself or is cut short.
    #[error("{path} is damaged ({what}): copy, download or build it again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where it stops making sense.
        what: String,
    },
    /// What it declares or unpacks to is larger than a file of its size can plausibly hold.
    #[error("{path} declares {declared} bytes in {what}, more than {limit} are not read: unpack it with its own tool if it is to be trusted")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The part of it.
        what: String,
        /// How many bytes that part says it has.
        declared: u64,
        /// How many are allowed.
        limit: u64,
    },
    /// Its parts refer to each other so often that following them all has no end in sight.
    #[error("{path} asks for more than {limit} bytes of memory or steps of work, far more than an honest file of its size needs: build it again, or do without it")]
    TooCostly {
        /// The file.
        path: PathBuf,
        /// How many are allowed.
        limit: u64,
    },
}

impl Error {
    pub(crate) fn read(path: &Path, source: std::io::Error) -> Self {
        Error::Read {
            path: path.into(),
            source,
        }
    }

    pub(crate) fn damaged(path: &Path, what: impl ToString) -> Self {
        Error::Damaged {
            path: path.into(),
            what: what.to_string(),
        }
    }

    /// What is wrong, without the file and what to do.
    pub(crate) fn what(&self) -> String {
        match self {
            Error::Damaged { what, .. } => what.clone(),
            Error::TooLarge { what, declared, .. } => format!("{what} declares {declared} bytes"),
            Error::TooCostly { .. } => "it asks for far more than an honest file needs".into(),
            Error::Read { source, .. } => source.to_string(),
            Error::Kind { found, .. } => found.clone(),
        }
    }

    pub(crate) fn not_elf(path: &Path, found: impl ToString) -> Self {
        Error::Kind {
            path: path.into(),
            expected: "a 64-bit little-endian ELF file",
            found: found.to_string(),
            advice: "give a vmlinux, module, program or library, plain or as .zst or .xz",
        }
    }
}

/// What functions of this crate return.
pub type Result<T> = std::result::Result<T, Error>;
