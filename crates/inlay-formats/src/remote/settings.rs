//! Settings of the network: what SET may say, under DuckDB's names.

use crate::option_text::{boolean, integer};
use crate::remote::secrets::Hidden;
use inlay_types::{Error, Result, Value};
use std::time::Duration;

/// What is set, or its default.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkSettings {
    /// How long a server may say nothing.
    pub timeout: Duration,
    /// How often a request that failed is made again.
    pub retries: u32,
    /// How long is waited before that.
    pub retry_wait: Duration,
    /// By what that wait grows each time.
    pub retry_backoff: f64,
    /// Whether connections are used again.
    pub keep_alive: bool,
    /// `host:port` or a URL; otherwise the environment says.
    pub proxy: Option<String>,
    /// User name for the proxy.
    pub proxy_username: Option<String>,
    /// Password for the proxy.
    pub proxy_password: Option<Hidden>,
    /// Certificates in PEM that are trusted instead of Mozilla's.
    pub ca_cert_file: Option<String>,
    /// Whether certificates of servers are verified.
    pub verifies_certificates: bool,
    /// Region of S3 where no secret says one, as all that follows.
    pub region: Option<String>,
    /// Access key.
    pub key_id: Option<String>,
    /// Secret key.
    pub secret: Option<Hidden>,
    /// Token of a session.
    pub session_token: Option<Hidden>,
    /// Host.
    pub endpoint: Option<String>,
    /// `vhost` or `path`.
    pub url_style: Option<String>,
    /// Whether it is spoken to by https.
    pub use_ssl: bool,
}

impl Default for NetworkSettings {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            retries: 3,
            retry_wait: Duration::from_millis(100),
            retry_backoff: 4.0,
            keep_alive: true,
            proxy: None,
            proxy_username: None,
            proxy_password: None,
            ca_cert_file: None,
            verifies_certificates: true,
            region: None,
            key_id: None,
            secret: None,
            session_token: None,
            endpoint: None,
            url_style: None,
            use_ssl: true,
        }
    }
}

/// Names and meanings.
pub const NETWORK_SETTINGS: [(&str, &str); 17] = [
    ("http_timeout", "seconds that a server may say nothing before a request fails"),
    ("http_retries", "how often a failed request is made again"),
    ("http_retry_wait_ms", "milliseconds before a failed request is made again"),
    ("http_retry_backoff", "by what that wait grows each time"),
    ("http_keep_alive", "whether connections are used again"),
    (
        "http_proxy",
        "the proxy, as 'host:port'; otherwise HTTPS_PROXY, HTTP_PROXY and NO_PROXY of the environment",
    ),
    ("http_proxy_username", "user name for the proxy"),
    ("http_proxy_password", "password for the proxy"),
    ("ca_cert_file", "certificates (PEM) to trust instead of Mozilla's"),
    ("enable_server_cert_verification", "whether certificates of servers are verified"),
    ("s3_region", "region of S3 where no secret says one"),
    ("s3_access_key_id", "access key of S3 where there is no secret"),
    ("s3_secret_access_key", "secret key of S3 where there is no secret"),
    ("s3_session_token", "session token of S3 where there is no secret"),
    ("s3_endpoint", "host of S3 where no secret says one"),
    ("s3_url_style", "'vhost' (bucket.host) or 'path' (host/bucket)"),
    ("s3_use_ssl", "whether S3 is spoken to by https"),
];

/// Whether a lower-case name is one of these settings.
pub fn is_of_network(name: &str) -> bool {
    NETWORK_SETTINGS.iter().any(|(known, _)| *known == name)
}

fn seconds(name: &str, value: &Value) -> Result<Duration> {
    let seconds = value.as_f64().or_else(|| value.as_str().and_then(|text| text.trim().parse().ok()));
    let fits = seconds.filter(|seconds| *seconds > 0.0 && *seconds <= 86_400.0);
    fits.map(Duration::from_secs_f64).ok_or_else(|| {
        Error::invalid_argument(format!("{name} = {value}: expected seconds, more than 0 and up to a day"))
    })
}

fn count(name: &str, value: &Value, max: u32) -> Result<u32> {
    u32::try_from(integer(name, value)?).ok().filter(|count| *count <= max).ok_or_else(|| {
        Error::invalid_argument(format!("{name} = {value}: expected a number from 0 to {max}"))
    })
}

/// A text; an empty one is none.
fn text_of(value: Option<&Value>) -> Option<String> {
    value.map(Value::to_string).filter(|text| !text.is_empty())
}

/// The value of `url_style`.
pub(crate) fn url_style(text: &str) -> Result<String> {
    let lower = text.to_ascii_lowercase();
    match lower.as_str() {
        "path" | "vhost" => Ok(lower),
        _ => Err(Error::invalid_argument(format!("url_style is 'vhost' or 'path', not '{text}'"))),
    }
}

impl NetworkSettings {
    /// Gives a setting of a lower-case name a value, or its default again.
    pub fn set(&mut self, name: &str, value: Option<&Value>) -> Result<()> {
        let default = Self::default();
        match name {
            "http_timeout" => self.timeout = value.map_or(Ok(default.timeout), |v| seconds(name, v))?,
            "http_retries" => self.retries = value.map_or(Ok(default.retries), |v| count(name, v, 100))?,
            "http_retry_wait_ms" => {
                let wait = value.map(|v| count(name, v, 600_000)).transpose()?;
                self.retry_wait = wait.map_or(default.retry_wait, |ms| Duration::from_millis(ms.into()));
            }
            "http_retry_backoff" => {
                let factor = value.map_or(Some(default.retry_backoff), |v| {
                    v.as_f64().or_else(|| v.as_str().and_then(|text| text.trim().parse().ok()))
                });
                self.retry_backoff = factor.filter(|f| (1.0..=100.0).contains(f)).ok_or_else(|| {
                    Error::invalid_argument("http_retry_backoff is a number from 1 to 100".to_string())
                })?;
            }
            "http_keep_alive" => self.keep_alive = value.map_or(Ok(true), |v| boolean(name, v))?,
            "http_proxy" => self.proxy = text_of(value),
            "http_proxy_username" => self.proxy_username = text_of(value),
            "http_proxy_password" => self.proxy_password = text_of(value).map(Hidden),
            "ca_cert_file" => self.ca_cert_file = text_of(value),
            "enable_server_cert_verification" => {
                self.verifies_certificates = value.map_or(Ok(true), |v| boolean(name, v))?;
            }
            "s3_region" => self.region = text_of(value),
            "s3_access_key_id" => self.key_id = text_of(value),
            "s3_secret_access_key" => self.secret = text_of(value).map(Hidden),
            "s3_session_token" => self.session_token = text_of(value).map(Hidden),
            "s3_endpoint" => self.endpoint = text_of(value),
            "s3_url_style" => self.url_style = text_of(value).as_deref().map(url_style).transpose()?,
            "s3_use_ssl" => self.use_ssl = value.map_or(Ok(true), |v| boolean(name, v))?,
            other => return Err(Error::internal(format!("the setting {other} is listed but not handled"))),
        }
        Ok(())
    }

    /// The value of a setting of a lower-case name. What is secret is not told.
    pub fn get(&self, name: &str) -> Option<Value> {
        let text = |text: &Option<String>| Value::Varchar(text.clone().unwrap_or_default());
        let hidden =
            |text: &Option<Hidden>| Value::Varchar(if text.is_some() { "redacted" } else { "" }.to_string());
        Some(match name {
            "http_timeout" => Value::Double(self.timeout.as_secs_f64()),
            "http_retries" => Value::BigInt(self.retries.into()),
            "http_retry_wait_ms" => Value::BigInt(self.retry_wait.as_millis() as i64),
            "http_retry_backoff" => Value::Double(self.retry_backoff),
            "http_keep_alive" => Value::Boolean(self.keep_alive),
            "http_proxy" => {
                Value::Varchar(self.proxy.as_deref().map(crate::remote::shown).unwrap_or_default())
            }
            "http_proxy_username" => text(&self.proxy_username),
            "http_proxy_password" => hidden(&self.proxy_password),
            "ca_cert_file" => text(&self.ca_cert_file),
            "enable_server_cert_verification" => Value::Boolean(self.verifies_certificates),
            "s3_region" => text(&self.region),
            "s3_access_key_id" => text(&self.key_id),
            "s3_secret_access_key" => hidden(&self.secret),
            "s3_session_token" => hidden(&self.session_token),
            "s3_endpoint" => text(&self.endpoint),
            "s3_url_style" => Value::Varchar(self.url_style.clone().unwrap_or_else(|| "vhost".to_string())),
            "s3_use_ssl" => Value::Boolean(self.use_ssl),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_set_shown_and_reset() {
        let text = |text: &str| Value::Varchar(text.to_string());
        for (name, _) in NETWORK_SETTINGS {
            let mut settings = NetworkSettings::default();
            let value = match name {
                "http_timeout" | "http_retries" | "http_retry_wait_ms" | "http_retry_backoff" => {
                    Value::BigInt(7)
                }
                "http_keep_alive" | "enable_server_cert_verification" | "s3_use_ssl" => Value::Boolean(false),
                "s3_url_style" => text("path"),
                _ => text("pale secret"),
            };
            settings.set(name, Some(&value)).unwrap();
            assert_ne!(settings, NetworkSettings::default(), "{name}");
            let shown = settings.get(name).unwrap().to_string();
            let is_secret = name.contains("password") || name.contains("token") || name.contains("secret");
            assert_eq!(shown == "redacted", is_secret, "{name}");
            if is_secret {
                assert!(!format!("{settings:?}").contains("pale"), "{name}");
            }
            settings.set(name, None).unwrap();
            assert_eq!(settings, NetworkSettings::default(), "{name}");
        }
        assert!(NetworkSettings::default().set("http_timeout", Some(&Value::BigInt(0))).is_err());
        assert!(NetworkSettings::default().set("s3_url_style", Some(&text("host"))).is_err());
    }
}
