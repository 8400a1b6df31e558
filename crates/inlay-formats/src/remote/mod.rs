//! Files behind a network: `http://`, `https://` and `s3://` (also `gs://`, `gcs://`, `r2://`, which speak S3's language).
//!
//! ```text
//! settings, secrets   what SET and CREATE SECRET say; always there
//! url                 what a path names: scheme, host, bucket, key
//! transport           sockets whose waiting ends when the statement is interrupted
//! http                requests: tried again, redirected, and errors that name the URL, the status and the fix
//! s3, sign            where objects lie, Amazon's signatures, listing
//! file                a remote file as a range source: what was read is kept in blocks, ranges are fetched in parallel
//! upload              COPY TO: one PUT, or an upload in parts
//! ```
//! All but the first two, and the network itself, are there with the feature `remote` alone; without it a URL is an error that
//! says so.
//!
//! The client is ureq with rustls, ring and Mozilla's roots, and signatures are made here. `object_store` would bring signing
//! and listing, but it is asynchronous: it needs tokio, hyper and reqwest, threads of their own that outlive statements, and 6 MB
//! of code, where this engine reads synchronously on its workers and wants to be interrupted while it waits. Nothing here
//! needs a library of the system.
//!
//! Invariants
//! - Secrets leave through request headers alone. No error, description or Debug text holds one, and URLs are [`shown`] without
//!   what may be one.
//! - A redirect is followed by a new request: what may be touched is asked again, and secrets go to other hosts only if
//!   their scope says so.
//! - Bytes of two versions of a file are never mixed: each range is asked for with the first answer's tag and size.

#[cfg(feature = "remote")]
mod file;
#[cfg(feature = "remote")]
mod http;
#[cfg(feature = "remote")]
mod s3;
pub mod secrets;
pub mod settings;
#[cfg(feature = "remote")]
mod sign;
#[cfg(feature = "remote")]
mod transport;
#[cfg(feature = "remote")]
mod upload;
mod url;

#[cfg(feature = "remote")]
pub(crate) use linked::{Remote, about, list, open, upload};
#[cfg(not(feature = "remote"))]
pub(crate) use unlinked::{Remote, about, list, open, upload};

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
pub(crate) use url::shown;

/// Whether a path is a URL of a scheme that means a network.
pub(crate) fn is_url(path: &str) -> bool {
    url::scheme(path).is_some()
}

/// Whether a URL names objects that can be listed and written.
pub(crate) fn is_bucket(path: &str) -> bool {
    url::scheme(path).is_some_and(|scheme| !matches!(scheme, "http" | "https"))
}

/// Whether the network is built in.
pub const fn is_built_in() -> bool {
    cfg!(feature = "remote")
}

/// A new file in a folder that is gone when it is closed; `count` numbers them.
pub(crate) fn temporary_in(folder: &Path, count: &AtomicU64) -> io::Result<File> {
    loop {
        let number = count.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("inlay-remote-{}-{number}.tmp", std::process::id()));
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        #[cfg(windows)]
        {
            // Gone when the last handle is closed.
            std::os::windows::fs::OpenOptionsExt::custom_flags(&mut options, 0x0400_0000);
        }
        match options.open(&path) {
            Ok(file) => {
                #[cfg(unix)]
                std::fs::remove_file(&path)?;
                return Ok(file);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(feature = "remote")]
mod linked {
    pub(crate) use super::file::{about, open};
    pub(crate) use super::http::Remote;
    pub(crate) use super::s3::list;
    pub(crate) use super::upload::upload;
}

/// What happens to URLs where the network is not built in.
#[cfg(not(feature = "remote"))]
mod unlinked {
    use super::shown;
    use crate::files::{About, Files, First};
    use crate::ranges::RangeSource;
    use inlay_types::{Error, Result};
    use std::fs::File;
    use std::sync::Arc;

    #[derive(Debug, Default)]
    pub(crate) struct Remote {}

    impl Remote {
        pub fn forget(&self) {}
    }

    fn refused<T>(url: &str) -> Result<T> {
        Err(Error::Unsupported {
            feature: format!("opening \"{}\" by this build, which has no network access,", shown(url)),
            alternative: Some("build it with the cargo feature \"remote\"".to_string()),
        })
    }

    pub(crate) fn open(_: &Arc<Files>, url: &str, _: First) -> Result<Arc<dyn RangeSource>> {
        refused(url)
    }

    pub(crate) fn about(_: &Arc<Files>, url: &str) -> Result<About> {
        refused(url)
    }

    pub(crate) fn list(_: &Arc<Files>, url: &str, _: usize) -> Result<Vec<String>> {
        refused(url)
    }

    pub(crate) fn upload(_: &Arc<Files>, url: &str, _: &File) -> Result<()> {
        refused(url)
    }
}
