//! Requests to web servers: tried again where that helps, redirected, and with errors that say what to do.

use super::s3::Object;
use super::secrets::Secret;
use super::settings::NetworkSettings;
use super::transport::{Names, Sockets};
use super::{shown, url};
use crate::files::Files;
use inlay_catalog::access::Door;
use inlay_types::limits;
use inlay_types::{Error, Result};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};
use ureq::http::{HeaderMap, Request, Response};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::unversioned::transport::{ConnectProxyConnector, Connector, RustlsConnector};
use ureq::{Agent, Body, Proxy};

/// Redirects that are followed.
const REDIRECTS_MAX: usize = 10;
/// Longest time that is waited before a request is made again.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// Bytes read of an answer that says what is wrong.
const COMPLAINT_SIZE: u64 = 8 << 10;

/// The connections of a database, and where buckets turned out to be.
#[derive(Debug, Default)]
pub(crate) struct Remote {
    client: Mutex<Option<Arc<Client>>>,
    regions: Mutex<HashMap<String, String>>,
}

#[derive(Debug)]
pub(super) struct Client {
    agent: Agent,
    settings: NetworkSettings,
}

impl Remote {
    /// Makes connections anew from now on.
    pub fn forget(&self) {
        *self.client.lock() = None;
    }

    fn client(&self, files: &Files) -> Result<Arc<Client>> {
        let mut known = self.client.lock();
        if let Some(client) = &*known {
            return Ok(Arc::clone(client));
        }
        let client = Arc::new(Client::new(files)?);
        *known = Some(Arc::clone(&client));
        Ok(client)
    }

    /// The region that a bucket said it is in.
    pub fn region_of(&self, bucket: &str) -> Option<String> {
        self.regions.lock().get(bucket).cloned()
    }
}

impl Client {
    fn new(files: &Files) -> Result<Self> {
        let settings = files.network();
        let mut tls = TlsConfig::builder().disable_verification(!settings.verifies_certificates);
        let certificates = settings.ca_cert_file.clone().or_else(|| std::env::var("SSL_CERT_FILE").ok());
        if let Some(path) = certificates.filter(|path| !path.is_empty()) {
            tls = tls.root_certs(certificates_of(&path)?);
        }
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .allow_non_standard_methods(true)
            .user_agent(concat!("inlay/", env!("CARGO_PKG_VERSION")))
            .input_buffer_size(256 << 10)
            .max_idle_connections(32)
            .max_idle_connections_per_host(if settings.keep_alive { 16 } else { 0 })
            .tls_config(tls.build());
        if let Some(proxy) = proxy_of(&settings)? {
            config = config.proxy(Some(proxy));
        }
        let timeout = settings.timeout;
        let connector =
            ().chain(ConnectProxyConnector::default())
                .chain(Sockets { timeout })
                .chain(RustlsConnector::default());
        let agent = Agent::with_parts(config.build(), connector, Names { timeout });
        Ok(Self { agent, settings })
    }
}

fn certificates_of(path: &str) -> Result<RootCerts> {
    let failed = |error: io::Error| Error::io("cannot read", path, &error);
    let text = std::fs::read(path).map_err(failed)?;
    let certificate = |item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    };
    let found: Vec<_> = parse_pem(&text).filter_map(certificate).collect();
    if found.is_empty() {
        return Err(failed(io::Error::new(io::ErrorKind::InvalidData, "it has no certificate in PEM")));
    }
    Ok(RootCerts::new_with_certs(&found))
}

fn proxy_of(settings: &NetworkSettings) -> Result<Option<Proxy>> {
    let Some(proxy) = &settings.proxy else { return Ok(None) };
    let refused =
        |_| Error::invalid_argument(format!("http_proxy = '{}': expected 'host:port'", shown(proxy)));
    let (scheme, place) = proxy.split_once("://").unwrap_or(("http", proxy));
    if !matches!(scheme, "http" | "https") {
        return Err(Error::invalid_argument("http_proxy is a proxy that is spoken to by http or https"));
    }
    let user = settings.proxy_username.as_ref().map_or_else(String::new, |user| {
        let password = settings.proxy_password.as_ref().map_or("", |password| password.0.as_str());
        format!("{}:{}@", super::sign::encoded(user), super::sign::encoded(password))
    });
    Proxy::new(&format!("{scheme}://{user}{place}")).map(Some).map_err(refused)
}

/// What a URL names.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// An address of the web, as requests want it.
    Web(String),
    Object(Box<Object>),
}

impl Place {
    pub fn of(files: &Files, path: &str) -> Result<Self> {
        Ok(match url::scheme(path) {
            Some("http" | "https") => Self::Web(url::encoded(path)),
            _ => Self::Object(Box::new(Object::of(files, path)?)),
        })
    }
}

/// A request.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub place: &'a Place,
    /// The path as the user wrote it, for errors.
    pub path: &'a str,
    /// "cannot read" and the like.
    pub action: &'static str,
    pub method: &'static str,
    /// Parameters behind `?` of requests to buckets.
    pub query: &'a [(&'a str, String)],
    pub headers: &'a [(&'static str, String)],
    pub body: &'a [u8],
    /// Answers besides success that are answers.
    pub accepts: &'a [u16],
}

impl<'a> Call<'a> {
    /// A request without a body.
    pub fn new(method: &'static str, place: &'a Place, path: &'a str, action: &'static str) -> Self {
        Self { place, path, action, method, query: &[], headers: &[], body: &[], accepts: &[] }
    }

    fn failed(&self, message: impl Into<String>) -> Error {
        Error::Io { action: self.action, path: shown(self.path), message: message.into() }
    }
}

/// An answer whose body was not read yet.
pub(super) struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Body,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The body, of at most so many bytes.
    pub fn bytes(&mut self, size_max: u64) -> io::Result<Vec<u8>> {
        let known = self.body.content_length().unwrap_or(0).min(size_max);
        let mut bytes = Vec::with_capacity(known as usize);
        self.reader().take(size_max).read_to_end(&mut bytes)?;
        if self.body.content_length().is_some_and(|size| (bytes.len() as u64) < size.min(size_max)) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(bytes)
    }

    /// A part of the body.
    pub fn part(&mut self, start: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut reader = self.reader();
        io::copy(&mut (&mut reader).take(start), &mut io::sink())?;
        let mut bytes = vec![0; len];
        reader.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// The body as it comes.
    pub fn reader(&mut self) -> impl Read + '_ {
        self.body.with_config().limit(u64::MAX).reader()
    }
}

/// What an attempt came to.
enum Attempt<T> {
    Done(T),
    /// It may be made again, perhaps after a while that the server says.
    Again(Error, Option<Duration>),
    /// It is to be made again somewhere else.
    Elsewhere(String),
    InRegion(String),
}

/// Makes a request and lets `take` have the answer; if reading it breaks off, both are done again.
pub(super) fn run<T>(
    files: &Files,
    call: &Call<'_>,
    take: &mut dyn FnMut(&mut Reply) -> io::Result<T>,
) -> Result<T> {
    let client = files.remote().client(files)?;
    let (mut attempts, mut redirects, mut wait) = (0, 0, client.settings.retry_wait);
    // Where a redirect led.
    let mut elsewhere: Option<String> = None;
    loop {
        limits::check()?;
        match attempt(files, &client, call, elsewhere.as_deref(), take)? {
            Attempt::Done(answer) => return Ok(answer),
            Attempt::Elsewhere(target) => {
                redirects += 1;
                if redirects > REDIRECTS_MAX {
                    return Err(call.failed(format!("it is redirected more than {REDIRECTS_MAX} times")));
                }
                elsewhere = Some(target);
            }
            Attempt::InRegion(region) => {
                let Place::Object(object) = call.place else {
                    return Err(call.failed("a web address has no region"));
                };
                files.remote().regions.lock().insert(object.bucket.clone(), region);
            }
            Attempt::Again(error, asked) => {
                if attempts >= client.settings.retries {
                    return Err(error);
                }
                attempts += 1;
                rest(asked.unwrap_or(wait).min(WAIT_MAX))?;
                wait = wait.mul_f64(client.settings.retry_backoff).min(WAIT_MAX);
            }
        }
    }
}

/// Waits, unless the statement is interrupted.
fn rest(duration: Duration) -> Result<()> {
    let until = Instant::now() + duration;
    loop {
        limits::check()?;
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(Duration::from_millis(25)));
    }
}

fn attempt<T>(
    files: &Files,
    client: &Client,
    call: &Call<'_>,
    elsewhere: Option<&str>,
    take: &mut dyn FnMut(&mut Reply) -> io::Result<T>,
) -> Result<Attempt<T>> {
    let (url, mut headers) = match (call.place, elsewhere) {
        (Place::Web(url), None) => (url.clone(), of_web(files, url, None)),
        (Place::Web(from), Some(url)) => (url.to_string(), of_web(files, url, Some(from))),
        // An address that a redirect says is signed in itself.
        (Place::Object(_), Some(url)) => (url.to_string(), Vec::new()),
        (Place::Object(object), None) => {
            let region = files.remote().region_of(&object.bucket);
            object.request(region.as_deref(), call.method, call.query, call.body)
        }
    };
    headers.push(("Accept-Encoding".to_string(), "identity".to_string()));
    headers.extend(call.headers.iter().map(|(name, value)| ((*name).to_string(), value.clone())));
    let mut request = Request::builder().method(call.method).uri(&url);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    // What is wrong with a header may be its value.
    let bad = |_| call.failed("its address or a header of its secret cannot be sent as written");
    let answer = if matches!(call.method, "PUT" | "POST") {
        client.agent.run(request.body(call.body).map_err(bad)?)
    } else {
        client.agent.run(request.body(()).map_err(bad)?)
    };
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => {
            limits::check()?;
            let (message, again) = reason(&error, &url, &client.settings);
            let error = call.failed(message);
            return if again { Ok(Attempt::Again(error, None)) } else { Err(error) };
        }
    };
    judge(files, client, call, &url, answer, take)
}

/// Headers of the secret for an address; those of a redirect only if it leads to the same host, or the secret's scope names
/// it.
fn of_web(files: &Files, url: &str, from: Option<&str>) -> Vec<(String, String)> {
    let Some(secret) = files.secrets().of_url(url, None) else { return Vec::new() };
    let is_same = from.is_none_or(|from| url::origin(from) == url::origin(url));
    if is_same || Secret::is_meant_for(&secret, url) { secret.headers() } else { Vec::new() }
}

fn judge<T>(
    files: &Files,
    client: &Client,
    call: &Call<'_>,
    url: &str,
    answer: Response<Body>,
    take: &mut dyn FnMut(&mut Reply) -> io::Result<T>,
) -> Result<Attempt<T>> {
    let (parts, body) = answer.into_parts();
    let mut reply = Reply { status: parts.status.as_u16(), headers: parts.headers, body };
    if (200..300).contains(&reply.status) || call.accepts.contains(&reply.status) {
        return match take(&mut reply) {
            Ok(taken) => Ok(Attempt::Done(taken)),
            Err(error) => {
                limits::check()?;
                let message = format!("the answer broke off: {error}");
                Ok(Attempt::Again(call.failed(message), None))
            }
        };
    }
    if let Place::Object(object) = call.place
        && let Some(region) = reply.header("x-amz-bucket-region")
        && object.may_move_to(region, files.remote().region_of(&object.bucket).as_deref())
    {
        return Ok(Attempt::InRegion(region.to_string()));
    }
    if matches!(reply.status, 301 | 302 | 303 | 307 | 308)
        && let Some(target) = reply.header("location")
    {
        let target = url::joined(url, target);
        if url.starts_with("https:") && !target.starts_with("https:") {
            let message = "it is redirected from https to http, which is not followed";
            return Err(call.failed(message));
        }
        if !matches!(call.method, "GET" | "HEAD") {
            return Err(call.failed(format!("the server says {}, a redirect", reply.status)));
        }
        files.ask(Door::Read(&target))?;
        return Ok(Attempt::Elsewhere(target));
    }
    let complaint = match call.method {
        "HEAD" => String::new(),
        _ => String::from_utf8_lossy(&reply.bytes(COMPLAINT_SIZE).unwrap_or_default()).into_owned(),
    };
    let error = call.failed(refusal(call, reply.status, &complaint));
    if matches!(reply.status, 408 | 425 | 429 | 500 | 502 | 503 | 504) {
        let asked = reply.header("retry-after").and_then(|seconds| seconds.trim().parse().ok());
        let asked = asked.map(Duration::from_secs).filter(|_| client.settings.retries > 0);
        return Ok(Attempt::Again(error, asked));
    }
    Err(error)
}

/// What an answer other than success means, and what to do.
fn refusal(call: &Call<'_>, status: u16, complaint: &str) -> String {
    let is_web = matches!(call.place, Place::Web(_));
    let name = ureq::http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    let mut text =
        format!("the server says {status}{}", name.map_or(String::new(), |name| format!(" {name}")));
    // Buckets say more.
    let told = super::s3::complaint_of(complaint);
    if let Some((code, message)) = &told {
        text.push_str(&format!(" ({code}: {message})"));
    }
    let fix = match (status, is_web) {
        (404 | 410, true) => "; there is no such file: check the address",
        (404, false) => "; check the names of bucket and file",
        (401 | 403, true) => "; CREATE SECRET (TYPE http, BEARER_TOKEN '...') says who asks",
        (401 | 403, false) => {
            "; CREATE SECRET (TYPE s3, KEY_ID '...', SECRET '...', REGION '...') says who asks and where"
        }
        (301 | 400, false) => "; check REGION, ENDPOINT and URL_STYLE of the secret",
        (412, _) => "; the file has changed while it was read: run the query again",
        (429 | 503, _) => "; http_retries and http_retry_wait_ms say how long it is asked again",
        _ => "",
    };
    text + fix
}

/// What went wrong on the way, and whether trying again may help.
fn reason(error: &ureq::Error, url: &str, settings: &NetworkSettings) -> (String, bool) {
    use ureq::Error as E;
    let host = url::host(url);
    let tls = |what: String| {
        let fix = "SET ca_cert_file = 'file.pem' trusts other authorities";
        (format!("no safe connection to \"{host}\": {what}; {fix}"), false)
    };
    match error {
        E::HostNotFound => {
            (format!("the host \"{host}\" is not known; check the address and the connection"), false)
        }
        E::Timeout(_) => {
            let seconds = settings.timeout.as_secs_f64();
            let message = format!(
                "\"{host}\" said nothing for {seconds} s; SET http_timeout = {} waits longer",
                (seconds * 4.0).ceil()
            );
            (message, true)
        }
        E::Rustls(error) => tls(error.to_string()),
        E::Tls(what) => tls((*what).to_string()),
        E::Io(error) => match error.get_ref().map(ToString::to_string) {
            // How rustls says it while it reads.
            Some(what) if error.kind() == io::ErrorKind::InvalidData => tls(what),
            _ => (format!("the connection to \"{host}\" failed: {error}"), true),
        },
        E::ConnectProxyFailed(what) => {
            (format!("the proxy refused a connection to \"{host}\": {what}"), false)
        }
        E::BadUri(_) | E::Http(_) => ("the address cannot be understood".to_string(), false),
        E::ConnectionFailed | E::BodyStalled => (format!("the connection to \"{host}\" failed"), true),
        E::Protocol(error) => (format!("\"{host}\" does not speak HTTP as it should: {error}"), true),
        other => (format!("the request to \"{host}\" failed: {other}"), false),
    }
}
