//! Secrets: credentials that SQL makes (`CREATE SECRET`), and which of them belong to a URL.
//!
//! They live in memory as long as the database is open and are written nowhere. A secret belongs to the URLs that begin with
//! one of its scopes; of several the one with the longest scope, then the newest, is taken.

use crate::option_text::{boolean, texts_of};
use crate::remote::{settings, url};
use inlay_catalog::near_names;
use inlay_types::{Error, Result, Value};
use parking_lot::RwLock;
use std::fmt;
use std::sync::Arc;

/// A text that Debug does not show.
#[derive(Clone, Eq, PartialEq)]
pub struct Hidden(pub String);

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("redacted")
    }
}

/// What a secret is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SecretType {
    /// Amazon's S3 and what speaks its language.
    S3,
    /// Google's.
    Gcs,
    /// Cloudflare's.
    R2,
    /// Web servers.
    Http,
}

impl SecretType {
    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Gcs => "gcs",
            Self::R2 => "r2",
            Self::Http => "http",
        }
    }

    fn named(name: &str) -> Result<Self> {
        Ok(match name.to_ascii_lowercase().as_str() {
            "s3" | "aws" => Self::S3,
            "gcs" => Self::Gcs,
            "r2" => Self::R2,
            "http" => Self::Http,
            other => {
                let message = format!("secret type '{other}' is not known");
                let hint = "types are s3, gcs, r2 and http";
                return Err(Error::invalid_argument(message).with_hint(hint));
            }
        })
    }

    /// Of the URLs of a scheme.
    fn of_scheme(scheme: &str) -> Self {
        match scheme {
            "http" | "https" => Self::Http,
            "gcs" => Self::Gcs,
            "r2" => Self::R2,
            _ => Self::S3,
        }
    }

    fn default_scopes(self) -> Vec<String> {
        let scopes: &[&str] = match self {
            Self::S3 => &["s3://", "s3n://", "s3a://"],
            Self::Gcs => &["gcs://", "gs://"],
            Self::R2 => &["r2://"],
            Self::Http => &[],
        };
        scopes.iter().map(|scope| (*scope).to_string()).collect()
    }

    fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::Http => &["bearer_token", "extra_http_headers"],
            Self::S3 | Self::Gcs => &BUCKET_PARAMETERS[..BUCKET_PARAMETERS.len() - 1],
            Self::R2 => &BUCKET_PARAMETERS,
        }
    }
}

const BUCKET_PARAMETERS: [&str; 10] = [
    "key_id",
    "secret",
    "session_token",
    "region",
    "endpoint",
    "url_style",
    "use_ssl",
    "chain",
    "profile",
    "account_id",
];

/// Where credentials come from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Provider {
    /// The statement says them.
    Config,
    /// The environment and the files of Amazon's tools.
    CredentialChain,
}

/// A secret.
#[derive(Clone, Debug)]
pub struct Secret {
    /// Its name, in lower case.
    pub name: String,
    /// What it is for.
    pub kind: SecretType,
    /// Where credentials come from.
    pub provider: Provider,
    /// Beginnings of URLs that it belongs to; none is all of its type.
    pub scopes: Vec<String>,
    /// What it says, by lower-case names.
    parameters: Vec<(String, Hidden)>,
    /// Request headers of web servers.
    headers: Vec<(String, Hidden)>,
}

/// What may be shown of a secret.
const PLAIN: [&str; 7] = ["region", "endpoint", "url_style", "use_ssl", "key_id", "chain", "profile"];

impl Secret {
    /// A secret of what CREATE SECRET says; options have lower-case names.
    pub fn new(name: Option<&str>, options: &[(String, Value)]) -> Result<Self> {
        let given = |wanted: &str| options.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
        let Some(kind) = given("type") else {
            return Err(Error::invalid_argument(
                "CREATE SECRET needs a type, as in (TYPE s3, KEY_ID '...', SECRET '...')",
            ));
        };
        let kind = SecretType::named(&kind.to_string())?;
        let provider = match given("provider").map(|value| value.to_string().to_ascii_lowercase()).as_deref()
        {
            None | Some("config") => Provider::Config,
            Some("credential_chain") if kind != SecretType::Http => Provider::CredentialChain,
            Some(_) => {
                return Err(Error::invalid_argument(
                    "a provider is config or, not of http, credential_chain",
                ));
            }
        };
        let name = name.map_or_else(|| format!("__default_{}", kind.name()), str::to_lowercase);
        let mut secret =
            Self { name, kind, provider, scopes: Vec::new(), parameters: Vec::new(), headers: Vec::new() };
        for (name, value) in options {
            secret.set(name, value)?;
        }
        if secret.scopes.is_empty() {
            secret.scopes = kind.default_scopes();
        }
        let has = |name: &str| secret.get(name).is_some();
        if has("key_id") != has("secret") {
            return Err(Error::invalid_argument("a secret has KEY_ID and SECRET, or neither"));
        }
        Ok(secret)
    }

    fn set(&mut self, name: &str, value: &Value) -> Result<()> {
        match name {
            "type" | "provider" => {}
            "scope" => self.scopes = texts_of(name, value)?,
            "extra_http_headers" if self.kind == SecretType::Http => {
                let Value::Map { entries, .. } = value else {
                    return Err(Error::invalid_argument(
                        "extra_http_headers is a map, as MAP {'X-Api-Key': '...'}",
                    ));
                };
                let header = |(name, value): &(Value, Value)| (name.to_string(), Hidden(value.to_string()));
                self.headers = entries.iter().map(header).collect();
            }
            _ => {
                let known = self.kind.parameters();
                if !known.contains(&name) {
                    let near = near_names(name, known.iter().copied());
                    let near =
                        if near.is_empty() { known.iter().map(ToString::to_string).collect() } else { near };
                    // The value is not repeated.
                    return Err(Error::invalid_argument(format!(
                        "a secret of type {} has no parameter \"{name}\"",
                        self.kind.name()
                    ))
                    .with_hint(format!("it has {}", near.join(", "))));
                }
                let text = match name {
                    "use_ssl" => {
                        let is_on = boolean(name, value);
                        is_on
                            .map_err(|_| Error::invalid_argument(format!("{name} is true or false")))?
                            .to_string()
                    }
                    "url_style" => settings::url_style(&value.to_string())?,
                    _ => value.to_string(),
                };
                self.parameters.push((name.to_string(), Hidden(text)));
            }
        }
        Ok(())
    }

    /// What it says of something.
    pub fn get(&self, wanted: &str) -> Option<&str> {
        let found = self.parameters.iter().rev().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.0.as_str()).filter(|value| !value.is_empty())
    }

    /// Whether it takes credentials of the host, or sends requests to a place that its URLs do not name.
    pub fn uses_host(&self) -> bool {
        let sends_elsewhere = ["endpoint", "account_id"].iter().any(|name| self.get(name).is_some());
        self.provider == Provider::CredentialChain || sends_elsewhere
    }

    /// Headers that go with requests to web servers.
    pub fn headers(&self) -> Vec<(String, String)> {
        let token =
            self.get("bearer_token").map(|token| ("Authorization".to_string(), format!("Bearer {token}")));
        let others = self.headers.iter().map(|(name, value)| (name.clone(), value.0.clone()));
        token.into_iter().chain(others).collect()
    }

    /// `name=s3;type=s3;...` with what is secret redacted.
    pub fn shown(&self) -> String {
        let provider = match self.provider {
            Provider::Config => "config",
            Provider::CredentialChain => "credential_chain",
        };
        let mut text = format!(
            "name={};type={};provider={provider};serializable=true;scope={}",
            self.name,
            self.kind.name(),
            self.scopes.join(",")
        );
        for (name, value) in &self.parameters {
            let value = if PLAIN.contains(&name.as_str()) { &value.0 } else { "redacted" };
            text.push_str(&format!(";{name}={value}"));
        }
        if !self.headers.is_empty() {
            text.push_str(";extra_http_headers=redacted");
        }
        text
    }

    /// Length of the longest scope that a URL begins with.
    fn rank(&self, url: &str) -> Option<usize> {
        if self.scopes.is_empty() {
            return Some(0);
        }
        let fits = |scope: &&String| begins_with(url, scope);
        self.scopes.iter().filter(fits).map(String::len).max()
    }

    /// Whether a scope, and not the type alone, says that it belongs to this URL.
    pub(crate) fn is_meant_for(&self, url: &str) -> bool {
        self.rank(url).is_some_and(|length| length > 0)
    }
}

/// Whether a URL begins with a scope. A host or bucket is named as a whole: `https://a.org` is no beginning of
/// `https://a.org.example`.
fn begins_with(url: &str, scope: &str) -> bool {
    let Some(rest) = url.strip_prefix(scope) else { return false };
    let names_path =
        scope.split_once("://").is_some_and(|(_, place)| place.is_empty() || place.contains('/'));
    names_path || rest.is_empty() || rest.starts_with(['/', '?', '#'])
}

/// The secrets of a database.
#[derive(Debug, Default)]
pub struct Secrets {
    all: RwLock<Vec<Arc<Secret>>>,
}

impl Secrets {
    /// Keeps a secret. One of the name is replaced, kept or an error.
    pub fn create(&self, secret: Secret, or_replace: bool, if_not_exists: bool) -> Result<()> {
        let mut all = self.all.write();
        if all.iter().any(|known| known.name == secret.name) {
            if if_not_exists {
                return Ok(());
            }
            if !or_replace {
                return Err(Error::Duplicate { kind: "secret", name: secret.name });
            }
            all.retain(|known| known.name != secret.name);
        }
        all.push(Arc::new(secret));
        Ok(())
    }

    /// Forgets a secret.
    pub fn drop(&self, name: &str, if_exists: bool) -> Result<()> {
        let mut all = self.all.write();
        let name = name.to_lowercase();
        let before = all.len();
        all.retain(|known| known.name != name);
        if all.len() == before && !if_exists {
            return Err(Error::invalid_argument(format!("secret \"{name}\" does not exist")));
        }
        Ok(())
    }

    /// All of them, the oldest first.
    pub fn all(&self) -> Vec<Arc<Secret>> {
        self.all.read().clone()
    }

    /// The one for a URL, of a type (by default that of the URL's scheme).
    pub fn of_url(&self, url: &str, kind: Option<&str>) -> Option<Arc<Secret>> {
        let kind = match kind {
            Some(kind) => SecretType::named(kind).ok()?,
            None => SecretType::of_scheme(url::scheme(url)?),
        };
        let all = self.all.read();
        let of_kind = all.iter().filter(|secret| secret.kind == kind);
        // The last of the best is the newest.
        let ranked = of_kind.filter_map(|secret| Some((secret.rank(url)?, secret)));
        ranked.max_by_key(|(rank, _)| *rank).map(|(_, secret)| Arc::clone(secret))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::Varchar(text.to_string())
    }

    fn secret(name: &str, options: &[(&str, &str)]) -> Result<Secret> {
        let options: Vec<_> =
            options.iter().map(|(name, value)| ((*name).to_string(), text(value))).collect();
        Secret::new(Some(name), &options)
    }

    #[test]
    fn the_longest_scope_wins_and_ends_where_a_part_ends() {
        let secrets = Secrets::default();
        secrets.create(secret("All", &[("type", "s3"), ("region", "a")]).unwrap(), false, false).unwrap();
        let of_bucket = secret("one", &[("type", "s3"), ("scope", "s3://bucket")]).unwrap();
        secrets.create(of_bucket, false, false).unwrap();
        let found = |url: &str| secrets.of_url(url, None).map(|secret| secret.name.clone());
        assert_eq!(found("s3://bucket/x").as_deref(), Some("one"));
        assert_eq!(found("s3://bucket2/x").as_deref(), Some("all"));
        assert_eq!(found("https://bucket/x"), None);
        secrets.drop("ALL", false).unwrap();
        assert_eq!(found("s3://bucket2/x"), None);
        assert!(secrets.drop("all", false).is_err() && secrets.drop("all", true).is_ok());
        assert!(
            begins_with("https://a.org/x", "https://a.org")
                && !begins_with("https://a.org.b/x", "https://a.org")
        );
    }

    #[test]
    fn secrets_are_checked_and_not_shown() {
        for options in [
            &[("key_id", "a")][..],
            &[("type", "ftp")],
            &[("type", "s3"), ("key_id", "a")],
            &[("type", "s3"), ("keyid", "hush"), ("secret", "hush")],
            &[("type", "http"), ("provider", "credential_chain")],
            &[("type", "s3"), ("use_ssl", "hush")],
        ] {
            let error = secret("x", options).unwrap_err().to_string();
            assert!(!error.contains("hush"), "{error}");
        }
        let made =
            secret("x", &[("type", "s3"), ("key_id", "AKIA"), ("secret", "hush"), ("session_token", "hush")]);
        let made = made.unwrap();
        assert!(made.shown().contains("key_id=AKIA;secret=redacted"), "{}", made.shown());
        assert!(!made.shown().contains("hush") && !format!("{made:?}").contains("hush"));
        let http = secret("h", &[("type", "http"), ("bearer_token", "hush")]).unwrap();
        assert_eq!(http.headers(), [("Authorization".to_string(), "Bearer hush".to_string())]);
        assert!(!http.shown().contains("hush"));
    }
}
