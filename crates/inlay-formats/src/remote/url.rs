//! URLs: which paths are some, and how they are shown.

/// Schemes, and what each is called where it means the same as another.
const SCHEMES: [(&str, &str); 8] = [
    ("http", "http"),
    ("https", "https"),
    ("s3", "s3"),
    ("s3a", "s3"),
    ("s3n", "s3"),
    ("gs", "gcs"),
    ("gcs", "gcs"),
    ("r2", "r2"),
];

/// The scheme of a URL of a network.
pub(crate) fn scheme(path: &str) -> Option<&'static str> {
    let (scheme, _) = path.split_once("://")?;
    SCHEMES.iter().find(|(known, _)| scheme.eq_ignore_ascii_case(known)).map(|(_, same)| *same)
}

/// A URL as errors and plans show it: without user and password, and without what stands behind `?` of a web address, which may
/// be a signature.
pub(crate) fn shown(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_string() };
    let is_web = scheme.len() >= 4 && scheme.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("http"));
    if !is_web {
        return url.to_string();
    }
    let (rest, query) = match rest.split_once('?') {
        Some((rest, _)) => (rest, "?..."),
        None => (rest, ""),
    };
    let host_end = rest.find('/').unwrap_or(rest.len());
    let (host, path) = rest.split_at(host_end);
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("{scheme}://{host}{path}{query}")
}

/// Scheme, host and port.
#[cfg(feature = "remote")]
pub(super) fn origin(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("{}://{}", scheme.to_ascii_lowercase(), host.to_ascii_lowercase())
}

/// Host, and port if it is said.
#[cfg(feature = "remote")]
pub(super) fn host(url: &str) -> String {
    origin(url).split_once("://").map_or_else(String::new, |(_, host)| host.to_string())
}

/// A web address with what may not stand in one as `%20` and the like, and without `#part`. What is written so already stays.
#[cfg(feature = "remote")]
pub(super) fn encoded(url: &str) -> String {
    use std::fmt::Write;
    let url = url.split_once('#').map_or(url, |(url, _)| url);
    let mut out = String::with_capacity(url.len());
    for byte in url.bytes() {
        let is_plain = byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte);
        if is_plain {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// The address that a redirect from `base` to `target` means.
#[cfg(feature = "remote")]
pub(super) fn joined(base: &str, target: &str) -> String {
    let target = encoded(target.trim());
    let scheme = base.split_once("://").map_or("http", |(scheme, _)| scheme);
    if target.contains("://") && !target.starts_with(['/', '?']) {
        return target;
    }
    if let Some(rest) = target.strip_prefix("//") {
        return format!("{scheme}://{rest}");
    }
    if target.starts_with('/') {
        return format!("{}{target}", origin(base));
    }
    let path = base.split('?').next().unwrap_or(base);
    if target.starts_with('?') {
        return format!("{path}{target}");
    }
    let start = origin(base).len();
    let folder = path.get(start..).and_then(|path| path.rfind('/')).map_or(path, |end| &path[..start + end]);
    format!("{folder}/{target}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_told_from_paths() {
        assert_eq!(scheme("HTTPS://a/b"), Some("https"));
        assert_eq!(scheme("s3://b/k"), Some("s3"));
        assert_eq!(scheme("gs://b/k"), Some("gcs"));
        for path in ["/a/b", "a://b", "http:/a", "C:\\x", "s3:b", "folder/http://a"] {
            assert_eq!(scheme(path), None, "{path}");
        }
    }

    #[test]
    fn what_may_be_secret_is_not_shown() {
        assert_eq!(shown("https://u:p@h:1/a?X-Amz-Signature=abc"), "https://h:1/a?...");
        assert_eq!(shown("https://h/a@b"), "https://h/a@b");
        assert_eq!(shown("s3://b/a?*.csv"), "s3://b/a?*.csv");
        assert_eq!(shown("/a/b?c"), "/a/b?c");
    }

    #[cfg(feature = "remote")]
    #[test]
    fn redirects_lead_where_they_say() {
        let base = "https://h:1/a/b.csv?x=1";
        for (target, expected) in [
            ("c.csv", "https://h:1/a/c.csv"),
            ("/c d", "https://h:1/c%20d"),
            ("//g/c", "https://g/c"),
            ("http://g/c?u=1", "http://g/c?u=1"),
            ("?y", "https://h:1/a/b.csv?y"),
        ] {
            assert_eq!(joined(base, target), expected, "{target}");
        }
        assert_eq!(joined("http://h", "x"), "http://h/x");
        assert_eq!(encoded("https://h/a b%20ü#part"), "https://h/a%20b%20%C3%BC");
        assert_eq!(origin("HTTPS://u@H:1/x"), "https://h:1");
    }
}
