//! Answers in fewer bytes, for clients that say which way they read: zstd or gzip, a piece at a time.
//!
//! Each piece can be read when it has come, so that rows show while others are computed. A body that breaks off has no end in its compressed form
//! either.

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use flate2::write::GzEncoder;
use futures_util::{StreamExt, stream};
use std::io::{self, Write};

/// Bodies of fewer bytes are sent as they are.
const LEAST_BYTES: u64 = 1024;
/// How hard each tries: more takes longer than most networks do.
const GZIP_LEVEL: u32 = 3;
const ZSTD_LEVEL: i32 = 1;

/// A way of making bytes fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Zstd,
    Gzip,
}

impl Encoding {
    fn name(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }

    /// The one that a client likes most of those that are here; `None` if it takes none.
    fn accepted(headers: &HeaderMap) -> Option<Self> {
        let mut best: Option<(Self, f32)> = None;
        let given = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
        for item in given.flat_map(|value| value.split(',')) {
            let mut parts = item.split(';').map(str::trim);
            let encoding = match parts.next().unwrap_or("") {
                name if name.eq_ignore_ascii_case("zstd") => Self::Zstd,
                name if name.eq_ignore_ascii_case("gzip") => Self::Gzip,
                _ => continue,
            };
            let weight = parts.find_map(|part| part.strip_prefix("q=")).map_or(Some(1.0), |q| q.parse().ok());
            let weight = weight.unwrap_or(0.0);
            let is_better = match best {
                None => weight > 0.0,
                Some((known, most)) => weight > most || weight == most && known == Self::Gzip,
            };
            if is_better {
                best = Some((encoding, weight));
            }
        }
        best.map(|(encoding, _)| encoding)
    }
}

/// What makes the bytes of a body fewer.
enum Encoder {
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
    Gzip(GzEncoder<Vec<u8>>),
}

impl Encoder {
    fn new(encoding: Encoding) -> io::Result<Self> {
        Ok(match encoding {
            Encoding::Zstd => Self::Zstd(zstd::stream::write::Encoder::new(Vec::new(), ZSTD_LEVEL)?),
            Encoding::Gzip => Self::Gzip(GzEncoder::new(Vec::new(), flate2::Compression::new(GZIP_LEVEL))),
        })
    }

    /// A piece, which can be read without the next one.
    fn piece(&mut self, bytes: &[u8]) -> io::Result<Bytes> {
        let out = match self {
            Self::Zstd(encoder) => {
                encoder.write_all(bytes)?;
                encoder.flush()?;
                encoder.get_mut()
            }
            Self::Gzip(encoder) => {
                encoder.write_all(bytes)?;
                encoder.flush()?;
                encoder.get_mut()
            }
        };
        Ok(Bytes::from(std::mem::take(out)))
    }

    fn end(self) -> io::Result<Bytes> {
        match self {
            Self::Zstd(encoder) => encoder.finish(),
            Self::Gzip(encoder) => encoder.finish(),
        }
        .map(Bytes::from)
    }
}

/// Whether a body of this kind is worth it: what is compressed already is not.
fn is_worth(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let is_text = kind.starts_with("text/")
        || ["application/json", "application/x-ndjson", "application/vnd.apache.arrow.file"]
            .iter()
            .any(|known| kind.starts_with(known));
    let is_small = response.body().size_hint().exact().is_some_and(|len| len < LEAST_BYTES);
    is_text && !is_small && !response.headers().contains_key(CONTENT_ENCODING)
}

/// Makes answers of those behind it fewer bytes, where the client reads that.
pub async fn compressed(request: Request, next: Next) -> Response {
    let accepted = Encoding::accepted(request.headers());
    let mut response = next.run(request).await;
    if !is_worth(&response) {
        return response;
    }
    response.headers_mut().append(VARY, HeaderValue::from_static("accept-encoding"));
    let Some(encoding) = accepted else { return response };
    let Ok(encoder) = Encoder::new(encoding) else { return response };
    let (mut head, body) = response.into_parts();
    head.headers.remove(CONTENT_LENGTH);
    head.headers.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding.name()));
    let pieces = stream::unfold(Some((body.into_data_stream(), encoder)), |state| async move {
        let (mut body, mut encoder) = state?;
        let piece = match body.next().await {
            Some(Ok(piece)) => tokio::task::block_in_place(|| encoder.piece(&piece)),
            Some(Err(error)) => return Some((Err(io::Error::other(error)), None)),
            None => return Some((encoder.end(), None)),
        };
        match piece {
            Ok(piece) => Some((Ok(piece), Some((body, encoder)))),
            Err(error) => Some((Err(error), None)),
        }
    });
    Response::from_parts(head, Body::from_stream(pieces))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn clients_say_what_they_read() {
        let accepted = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_str(text).unwrap());
            Encoding::accepted(&headers)
        };
        assert_eq!(accepted("gzip, deflate, br, zstd"), Some(Encoding::Zstd));
        assert_eq!(accepted("gzip;q=1.0, zstd;q=0.5"), Some(Encoding::Gzip));
        assert_eq!(accepted("GZIP"), Some(Encoding::Gzip));
        assert_eq!(accepted("gzip;q=0, br"), None);
        assert_eq!(accepted("identity"), None);
    }

    #[test]
    fn pieces_can_be_read_one_by_one() {
        let mut encoder = Encoder::new(Encoding::Gzip).unwrap();
        let first = encoder.piece(b"first piece").unwrap();
        let mut out = [0; 11];
        flate2::read::GzDecoder::new(&first[..]).read_exact(&mut out).unwrap();
        assert_eq!(&out, b"first piece");
        let all = [first, encoder.piece(b", second").unwrap(), encoder.end().unwrap()].concat();
        let mut whole = String::new();
        flate2::read::GzDecoder::new(&all[..]).read_to_string(&mut whole).unwrap();
        assert_eq!(whole, "first piece, second");
        let mut encoder = Encoder::new(Encoding::Zstd).unwrap();
        let all =
            [encoder.piece(b"a").unwrap(), encoder.piece(b"b").unwrap(), encoder.end().unwrap()].concat();
        assert_eq!(zstd::decode_all(&all[..]).unwrap(), b"ab");
    }
}
