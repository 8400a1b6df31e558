//! Objects in buckets: where they lie, who asks for them, and which there are.

use super::http::{Call, Place, run};
use super::secrets::{Provider, Secret};
use super::sign::{Signed, Signer, encoded_path, query_text};
use super::{shown, url};
use crate::files::Files;
use crate::paths;
use inlay_types::limits;
use inlay_types::{Error, Result};
use quick_xml::Reader;
use quick_xml::events::Event;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

/// Bytes of one answer of a listing; a server that sends more is not listened to.
const LISTING_SIZE_MAX: u64 = 64 << 20;
const DEFAULT_REGION: &str = "us-east-1";

/// Who asks.
#[derive(Clone)]
struct Credentials {
    key_id: String,
    secret: String,
    session_token: Option<String>,
}

/// An object, or with an empty key a bucket.
#[derive(Clone)]
pub(super) struct Object {
    pub bucket: String,
    pub key: String,
    credentials: Option<Credentials>,
    region: String,
    /// Host, and port if it is said.
    endpoint: String,
    is_amazon: bool,
    path_style: bool,
    use_ssl: bool,
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object({}/{} at {})", self.bucket, self.key, self.endpoint)
    }
}

impl Object {
    /// The object that a URL names, with what secrets, settings and the environment say of its place.
    pub fn of(files: &Files, path: &str) -> Result<Self> {
        let rest = path.split_once("://").map_or(path, |(_, rest)| rest);
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() || !bucket.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b)) {
            let message = "it names no bucket, as in s3://bucket/folder/file.parquet".to_string();
            return Err(Error::Io { action: "cannot open", path: shown(path), message });
        }
        let scheme = url::scheme(path).unwrap_or("s3");
        let secret = files.secrets().of_url(path, None);
        let secret = secret.as_deref();
        let settings = files.network();
        let said = |name: &str| secret.and_then(|secret| secret.get(name)).map(str::to_string);
        // A secret says it all: keys of other places are not sent to where it says.
        let (credentials, of_chain) = match secret {
            Some(secret) if secret.provider == Provider::CredentialChain => chain(secret)?,
            Some(secret) => (keys(secret), None),
            None => (of_settings(files).or_else(of_environment), None),
        };
        let is_free = secret.is_none();
        let variable = |name: &str| if is_free { variable(name) } else { None };
        let region = said("region")
            .or(of_chain)
            .or_else(|| settings.region.clone().filter(|_| is_free))
            .or_else(|| variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION")));
        let endpoint = said("endpoint")
            .or_else(|| settings.endpoint.clone().filter(|_| is_free))
            .or_else(|| variable("AWS_ENDPOINT_URL_S3").or_else(|| variable("AWS_ENDPOINT_URL")))
            .or_else(|| default_endpoint(scheme, secret));
        let region =
            region.unwrap_or_else(|| if scheme == "r2" { "auto" } else { DEFAULT_REGION }.to_string());
        let mut use_ssl = said("use_ssl").map_or(settings.use_ssl || !is_free, |text| text == "true");
        let mut endpoint = endpoint.unwrap_or_else(|| format!("s3.{region}.amazonaws.com"));
        if let Some((scheme, host)) = endpoint.split_once("://") {
            use_ssl = scheme != "http";
            endpoint = host.to_string();
        }
        let endpoint = endpoint.trim_end_matches('/').to_string();
        let is_amazon = endpoint == format!("s3.{region}.amazonaws.com") || endpoint == "s3.amazonaws.com";
        let style = said("url_style").or_else(|| settings.url_style.clone().filter(|_| is_free));
        let path_style = match style.as_deref() {
            Some(style) => style == "path",
            // Names with dots are in no certificate, and numbers take no names in front of them.
            None => scheme != "s3" || bucket.contains('.') || !may_take_names(&endpoint),
        };
        let (bucket, key) = (bucket.to_string(), key.to_string());
        Ok(Self { bucket, key, credentials, region, endpoint, is_amazon, path_style, use_ssl })
    }

    /// The bucket alone.
    pub fn whole_bucket(&self) -> Self {
        Self { key: String::new(), ..self.clone() }
    }

    /// Whether an answer that names another region is to be believed.
    pub fn may_move_to(&self, region: &str, known: Option<&str>) -> bool {
        let is_name = !region.is_empty() && region.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        self.is_amazon && is_name && region != known.unwrap_or(&self.region)
    }

    /// URL and headers of a request.
    pub fn request(
        &self,
        region: Option<&str>,
        method: &str,
        query: &[(&str, String)],
        body: &[u8],
    ) -> (String, Vec<(String, String)>) {
        let region = region.unwrap_or(&self.region);
        let endpoint =
            if self.is_amazon { format!("s3.{region}.amazonaws.com") } else { self.endpoint.clone() };
        let key = encoded_path(&self.key);
        let (host, path) = if self.path_style {
            (endpoint, format!("/{}/{key}", self.bucket))
        } else {
            (format!("{}.{endpoint}", self.bucket), format!("/{key}"))
        };
        let scheme = if self.use_ssl { "https" } else { "http" };
        let parameters = query_text(query);
        let mark = if parameters.is_empty() { "" } else { "?" };
        let url = format!("{scheme}://{host}{path}{mark}{parameters}");
        let headers = self.credentials.as_ref().map_or_else(Vec::new, |known| {
            let signer = Signer {
                key_id: &known.key_id,
                secret: &known.secret,
                session_token: known.session_token.as_deref(),
                region,
            };
            let request = Signed { method, host: &host, path: &path, query, body };
            signer.headers(&request, SystemTime::now())
        });
        (url, headers)
    }
}

/// Whether a bucket may be a part of the host's name.
fn may_take_names(endpoint: &str) -> bool {
    let host = endpoint.rsplit_once(':').map_or(endpoint, |(host, _)| host);
    let is_number = host.starts_with('[') || host.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    !is_number && host != "localhost"
}

fn default_endpoint(scheme: &str, secret: Option<&Secret>) -> Option<String> {
    match scheme {
        "gcs" => Some("storage.googleapis.com".to_string()),
        "r2" => {
            let account = secret.and_then(|secret| secret.get("account_id"))?;
            Some(format!("{account}.r2.cloudflarestorage.com"))
        }
        _ => None,
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn keys(secret: &Secret) -> Option<Credentials> {
    Some(Credentials {
        key_id: secret.get("key_id")?.to_string(),
        secret: secret.get("secret")?.to_string(),
        session_token: secret.get("session_token").map(str::to_string),
    })
}

fn of_settings(files: &Files) -> Option<Credentials> {
    let settings = files.network();
    let hidden = |text: Option<super::secrets::Hidden>| text.map(|text| text.0);
    Some(Credentials {
        key_id: settings.key_id?,
        secret: hidden(settings.secret)?,
        session_token: hidden(settings.session_token),
    })
}

fn of_environment() -> Option<Credentials> {
    Some(Credentials {
        key_id: variable("AWS_ACCESS_KEY_ID")?,
        secret: variable("AWS_SECRET_ACCESS_KEY")?,
        session_token: variable("AWS_SESSION_TOKEN"),
    })
}

/// Credentials, and a region, of the environment or the files of Amazon's tools.
fn chain(secret: &Secret) -> Result<(Option<Credentials>, Option<String>)> {
    let profile = secret.get("profile").map(str::to_string).or_else(|| variable("AWS_PROFILE"));
    let profile = profile.unwrap_or_else(|| "default".to_string());
    let in_home = |name: &str| {
        let home = variable("HOME").or_else(|| variable("USERPROFILE"))?;
        Some(PathBuf::from(home).join(".aws").join(name))
    };
    let file = |name: &str, standard: &str| variable(name).map(PathBuf::from).or_else(|| in_home(standard));
    let text =
        |path: Option<PathBuf>| path.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
    let credentials = text(file("AWS_SHARED_CREDENTIALS_FILE", "credentials"));
    let config = text(file("AWS_CONFIG_FILE", "config"));
    let section = if profile == "default" { profile.clone() } else { format!("profile {profile}") };
    let entry = |name: &str| entry(&credentials, &profile, name).or_else(|| entry(&config, &section, name));
    let of_files = || {
        Some(Credentials {
            key_id: entry("aws_access_key_id")?,
            secret: entry("aws_secret_access_key")?,
            session_token: entry("aws_session_token"),
        })
    };
    let mut found = None;
    for link in secret.get("chain").unwrap_or("env;config").split([';', ',']).map(str::trim) {
        found = found.or_else(|| match link.to_ascii_lowercase().as_str() {
            "env" => of_environment(),
            _ => of_files(),
        });
        if !matches!(link.to_ascii_lowercase().as_str(), "env" | "config") {
            return Err(Error::Unsupported {
                feature: format!("the chain link '{link}' of credentials"),
                alternative: Some("env and config are there".to_string()),
            });
        }
    }
    if found.is_none() {
        return Err(Error::invalid_argument(format!(
            "secret \"{}\" finds no credentials in the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY) nor for \
             profile \"{profile}\" in ~/.aws/credentials",
            secret.name
        )));
    }
    let region =
        variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION")).or_else(|| entry("region"));
    Ok((found, region))
}

/// The value of `name` in a section of a file such as `~/.aws/credentials`.
fn entry(text: &str, section: &str, name: &str) -> Option<String> {
    let mut is_in = false;
    for line in text.lines().map(str::trim) {
        if let Some(title) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            is_in = title.trim() == section;
        } else if let Some((key, value)) = line.split_once('=')
            && is_in
            && key.trim() == name
        {
            return Some(value.trim().to_string()).filter(|value| !value.is_empty());
        }
    }
    None
}

/// The texts of some elements of an XML document, in order, with their names.
fn elements(xml: &str, wanted: &[&str]) -> std::result::Result<Vec<(String, String)>, String> {
    let mut reader = Reader::from_str(xml);
    let mut found: Vec<(String, String)> = Vec::new();
    let mut open: Option<(String, String)> = None;
    loop {
        match reader.read_event().map_err(|error| error.to_string())? {
            Event::Start(tag) => {
                let name = tag.local_name().as_ref().to_string();
                open = wanted.contains(&name.as_str()).then(|| (name, String::new()));
            }
            Event::Text(text) => {
                if let Some((_, value)) = &mut open {
                    value.push_str(&text);
                }
            }
            Event::GeneralRef(reference) => {
                if let Some((_, value)) = &mut open {
                    let text = format!("&{};", &*reference);
                    value.push_str(&quick_xml::escape::unescape(&text).map_err(|error| error.to_string())?);
                }
            }
            Event::CData(text) => {
                if let Some((_, value)) = &mut open {
                    value.push_str(&text);
                }
            }
            Event::End(_) => found.extend(open.take()),
            Event::Eof => return Ok(found),
            _ => {}
        }
    }
}

/// One element's text.
pub(super) fn element(xml: &str, name: &str) -> Option<String> {
    elements(xml, &[name]).ok()?.into_iter().next().map(|(_, text)| text)
}

/// What a bucket says is wrong: code and message.
pub(super) fn complaint_of(answer: &str) -> Option<(String, String)> {
    if !answer.contains("<Error>") {
        return None;
    }
    Some((element(answer, "Code")?, element(answer, "Message").unwrap_or_default()))
}

/// The objects that a pattern matches, as URLs, sorted; no more than about `count_max` are asked for.
pub(crate) fn list(files: &Arc<Files>, pattern: &str, count_max: usize) -> Result<Vec<String>> {
    let Place::Object(object) = Place::of(files, pattern)? else {
        return Err(Error::internal("a web address cannot be listed"));
    };
    let fixed = object.key.find(['*', '?', '[']).unwrap_or(object.key.len());
    let start = pattern.len() - object.key.len();
    let place = Place::Object(Box::new(object.whole_bucket()));
    let mut urls = Vec::new();
    let mut token: Option<String> = None;
    loop {
        limits::check()?;
        let mut query = vec![("list-type", "2".to_string()), ("prefix", object.key[..fixed].to_string())];
        if count_max < 1000 {
            query.push(("max-keys", count_max.to_string()));
        }
        query.extend(token.take().map(|token| ("continuation-token", token)));
        let call = Call { query: &query, ..Call::new("GET", &place, pattern, "cannot list") };
        let answer = run(files, &call, &mut |reply| reply.bytes(LISTING_SIZE_MAX))?;
        let failed = |message: String| Error::Io { action: "cannot list", path: shown(pattern), message };
        let answer = String::from_utf8(answer).map_err(|_| failed("the answer is no text".to_string()))?;
        let found = elements(&answer, &["Key", "IsTruncated", "NextContinuationToken"])
            .map_err(|error| failed(format!("the answer is no list of objects: {error}")))?;
        let mut is_cut = false;
        for (name, text) in found {
            match name.as_str() {
                "Key" => {
                    if !text.ends_with('/') && paths::fits_path(&object.key, &text) {
                        urls.push(format!("{}{text}", &pattern[..start]));
                    }
                }
                "IsTruncated" => is_cut = text == "true",
                _ => token = Some(text),
            }
        }
        if !is_cut || token.is_none() || urls.len() >= count_max {
            break;
        }
    }
    urls.sort();
    Ok(urls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_read() {
        let text = "[default]\naws_access_key_id = A\n# no\n[other]\naws_access_key_id=B\nregion =\n";
        assert_eq!(entry(text, "default", "aws_access_key_id").as_deref(), Some("A"));
        assert_eq!(entry(text, "other", "aws_access_key_id").as_deref(), Some("B"));
        assert_eq!(entry(text, "other", "region"), None);
        assert_eq!(entry(text, "none", "aws_access_key_id"), None);
    }

    #[test]
    fn answers_of_buckets_are_read() {
        let text = "<?xml version=\"1.0\"?><L xmlns=\"x\"><Contents><Key>a&amp;b/&#233;.csv</Key></Contents>\
                    <Contents><Key>c d</Key></Contents><IsTruncated>false</IsTruncated></L>";
        let found = elements(text, &["Key"]).unwrap();
        let texts: Vec<&str> = found.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["a&b/é.csv", "c d"]);
        assert!(elements("<a><b></a>", &["b"]).is_err());
        let complaint = complaint_of("<Error><Code>NoSuchKey</Code><Message>gone</Message></Error>");
        assert_eq!(complaint, Some(("NoSuchKey".to_string(), "gone".to_string())));
        assert_eq!(complaint_of("<html>Error</html>"), None);
    }

    #[test]
    fn objects_lie_where_secrets_say() {
        use inlay_types::Value;
        let files = Files::default();
        let options = |pairs: &[(&str, &str)]| -> Vec<(String, Value)> {
            pairs
                .iter()
                .map(|(name, value)| ((*name).to_string(), Value::Varchar((*value).to_string())))
                .collect()
        };
        let url = |path: &str, pairs: &[(&str, &str)]| {
            let secret = Secret::new(None, &options(pairs)).unwrap();
            files.secrets().create(secret, true, false).unwrap();
            Object::of(&files, path).unwrap().request(None, "GET", &[], b"").0
        };
        assert_eq!(url("s3://b/k k", &[("type", "s3")]), "https://b.s3.us-east-1.amazonaws.com/k%20k");
        assert_eq!(
            url("s3://a.b/k", &[("type", "s3"), ("region", "eu-west-1")]),
            "https://s3.eu-west-1.amazonaws.com/a.b/k"
        );
        let local = [("type", "s3"), ("endpoint", "127.0.0.1:9000"), ("use_ssl", "false")];
        assert_eq!(url("s3://b/k", &local), "http://127.0.0.1:9000/b/k");
        let own = [("type", "s3"), ("endpoint", "http://store.example/")];
        assert_eq!(url("s3://b/k", &own), "http://b.store.example/k");
        assert_eq!(url("gs://b/k", &[("type", "gcs")]), "https://storage.googleapis.com/b/k");
        assert_eq!(
            url("r2://b/k", &[("type", "r2"), ("account_id", "me")]),
            "https://me.r2.cloudflarestorage.com/b/k"
        );
        assert!(Object::of(&files, "s3:///k").is_err() && Object::of(&files, "s3://a@b/k").is_err());
    }
}
