//! What can be wrong with frames and connections.

use std::io;

/// The result of what reads and writes frames.
pub type Result<T, E = WireError> = std::result::Result<T, E>;

/// See the variants; [`WireError::sqlstate`] is what an Error frame says of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// 08P01. Bytes that are no frame of the protocol, or a frame at the wrong time.
    #[error("protocol violation: {what}")]
    Malformed {
        /// What does not hold, and where.
        what: String,
    },
    /// 54000. A frame that is larger than what was agreed on.
    #[error(
        "a frame of {size} bytes is above the limit of {limit}; the sender has to ask for a larger buffer first"
    )]
    TooLarge {
        /// Its size.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// 54000. What a client would send is larger than its server takes; nothing was sent, and the connection goes on.
    #[error(
        "a message of {size} bytes is more than the server takes, which is {limit}; --max-message of inlay serve raises it"
    )]
    Refused {
        /// Its size.
        size: u64,
        /// What the server takes.
        limit: u64,
    },
    /// 08001. Nobody answers there.
    #[error("no server answers at {place}: {error}; inlay serve listens at port 4655 unless told otherwise")]
    Unreachable {
        /// Host and port.
        place: String,
        /// What the system said.
        error: io::Error,
    },
    /// 08006. The connection broke.
    #[error("the connection broke while {action}: {error}")]
    Io {
        /// "reading a frame", "writing a frame".
        action: &'static str,
        /// What the system said.
        error: io::Error,
    },
    /// 08006. The other end closed the connection.
    #[error("the other end closed the connection{}", reason_of(reason))]
    Closed {
        /// What it said, if anything.
        reason: String,
    },
    /// The engine's: memory, values.
    #[error(transparent)]
    Engine(#[from] inlay_types::Error),
}

fn reason_of(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {reason}") }
}

impl WireError {
    /// Bytes that are no frame.
    pub fn malformed(what: impl Into<String>) -> Self {
        Self::Malformed { what: what.into() }
    }

    /// The connection broke.
    pub fn io(action: &'static str, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => {
                Self::Closed { reason: format!("while {action}") }
            }
            _ => Self::Io { action, error },
        }
    }

    /// Five characters, as SQL has them.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            Self::Malformed { .. } => "08P01",
            Self::TooLarge { .. } | Self::Refused { .. } => "54000",
            Self::Unreachable { .. } => "08001",
            Self::Io { .. } | Self::Closed { .. } => "08006",
            Self::Engine(error) => error.sqlstate(),
        }
    }
}
