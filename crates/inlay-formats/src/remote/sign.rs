//! Amazon's signatures (version 4) for requests to S3, and the dates and texts that go with them.
//!
//! Source: "Authenticating Requests (AWS Signature Version 4)", Amazon S3 API reference; the test is its first example.

use ring::{digest, hmac};
use std::fmt::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Who signs.
#[derive(Debug)]
pub(super) struct Signer<'a> {
    pub key_id: &'a str,
    pub secret: &'a str,
    pub session_token: Option<&'a str>,
    pub region: &'a str,
}

/// What is signed: the path is encoded, the query is not.
#[derive(Debug)]
pub(super) struct Signed<'a> {
    pub method: &'a str,
    pub host: &'a str,
    pub path: &'a str,
    pub query: &'a [(&'a str, String)],
    pub body: &'a [u8],
}

impl Signer<'_> {
    /// The headers of a signed request.
    pub fn headers(&self, request: &Signed<'_>, now: SystemTime) -> Vec<(String, String)> {
        let time = stamp(now);
        let day = &time[..8];
        let payload = hex(digest::digest(&digest::SHA256, request.body).as_ref());
        let mut headers = vec![
            ("host".to_string(), request.host.to_string()),
            ("x-amz-content-sha256".to_string(), payload.clone()),
            ("x-amz-date".to_string(), time.clone()),
        ];
        if let Some(token) = self.session_token {
            headers.push(("x-amz-security-token".to_string(), token.to_string()));
        }
        let names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
        let names = names.join(";");
        let mut canonical = format!("{}\n{}\n{}\n", request.method, request.path, query_text(request.query));
        for (name, value) in &headers {
            let _ = writeln!(canonical, "{name}:{}", value.trim());
        }
        let _ = write!(canonical, "\n{names}\n{payload}");
        let scope = format!("{day}/{}/s3/aws4_request", self.region);
        let hashed = hex(digest::digest(&digest::SHA256, canonical.as_bytes()).as_ref());
        let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{hashed}");
        let mut key = mac(format!("AWS4{}", self.secret).as_bytes(), day);
        for part in [self.region, "s3", "aws4_request"] {
            key = mac(key.as_ref(), part);
        }
        let signature = hex(mac(key.as_ref(), &text).as_ref());
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={signature}",
            self.key_id
        );
        headers.push(("authorization".to_string(), authorization));
        headers
    }
}

fn mac(key: &[u8], text: &str) -> hmac::Tag {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Parameters of a query in the order that is signed, which is also how they are sent.
pub(super) fn query_text(query: &[(&str, String)]) -> String {
    let mut pairs: Vec<(String, String)> =
        query.iter().map(|(name, value)| (encoded(name), encoded(value))).collect();
    pairs.sort();
    pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

/// Text with everything but letters, digits and `-._~` as `%20` and the like.
pub(super) fn encoded(text: &str) -> String {
    encoded_but(text, b"")
}

/// As [`encoded`]; slashes stay.
pub(super) fn encoded_path(text: &str) -> String {
    encoded_but(text, b"/")
}

fn encoded_but(text: &str, kept: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || kept.contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// `20130524T000000Z`.
fn stamp(now: SystemTime) -> String {
    let seconds = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, second) = ((seconds / 86_400) as i64, seconds % 86_400);
    let (year, month, day) = civil(days);
    format!("{year:04}{month:02}{day:02}T{:02}{:02}{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

/// Year, month and day of a number of days since 1970. Source: H. Hinnant, "chrono-compatible low-level date algorithms".
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// The time of `Wed, 21 Oct 2015 07:28:00 GMT`.
pub(super) fn time_of(text: &str) -> Option<SystemTime> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let mut words = text.split_once(", ")?.1.split(' ');
    let number = |words: &mut std::str::Split<'_, char>| words.next()?.parse::<i64>().ok();
    let day = number(&mut words)?;
    let month = MONTHS.find(words.next()?).filter(|at| at % 3 == 0)? as i64 / 3 + 1;
    let year = number(&mut words)?;
    let mut clock = words.next()?.split(':').map(|part| part.parse::<i64>().ok());
    let mut unit = || clock.next().flatten();
    let second = unit()? * 3600 + unit()? * 60 + unit()?;
    // The day whose date this is, found from one close by.
    let near = (year - 1970) * 365 + (year - 1969) / 4 + (month - 1) * 30 + day - 1;
    let days = (near - 40..near + 40).find(|&days| civil(days) == (year, month, day))?;
    let seconds = u64::try_from(days * 86_400 + second).ok()?;
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amazons_example_comes_out() {
        let signer = Signer {
            key_id: "AKIAIOSFODNN7EXAMPLE",
            secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            session_token: None,
            region: "us-east-1",
        };
        let query = [("prefix", "J".to_string()), ("max-keys", "2".to_string())];
        let host = "examplebucket.s3.amazonaws.com";
        let request = Signed { method: "GET", host, path: "/", query: &query, body: b"" };
        let now = UNIX_EPOCH + Duration::from_secs(1_369_353_600);
        let headers = signer.headers(&request, now);
        let authorization = &headers.last().unwrap().1;
        let expected = "Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7";
        assert!(authorization.ends_with(expected), "{authorization}");
        assert_eq!(headers[2].1, "20130524T000000Z");
    }

    #[test]
    fn dates_of_headers_are_read() {
        let at = |seconds| Some(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(time_of("Wed, 21 Oct 2015 07:28:00 GMT"), at(1_445_412_480));
        assert_eq!(time_of("Thu, 29 Feb 2024 00:00:01 GMT"), at(1_709_164_801));
        assert_eq!(time_of("Thu, 01 Jan 1970 00:00:00 GMT"), at(0));
        for bad in ["", "yesterday", "Wed, 31 Feb 2015 07:28:00 GMT", "Wed, 21 anF 2015 07:28:00 GMT"] {
            assert_eq!(time_of(bad), None, "{bad}");
        }
    }

    #[test]
    fn texts_are_encoded_as_they_are_signed() {
        assert_eq!(encoded_path("a b/ü+=~"), "a%20b/%C3%BC%2B%3D~");
        assert_eq!(query_text(&[("uploads", String::new()), ("a", "x/y".to_string())]), "a=x%2Fy&uploads=");
    }
}
