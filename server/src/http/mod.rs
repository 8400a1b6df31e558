//! HTTP: statements in, answers out, for whoever has nothing but a client of HTTP.
//!
//! - `POST /query` runs the statements of its body; `GET /query?query=...` a query that changes nothing. [`query`] reads the request,
//!   [`answer`] makes the body, a piece at a time, [`failure`] says what went wrong.
//! - `POST /insert/{table}` puts the rows of its body into a table ([`insert`]). `GET /olap/{table}` calculates ([`olap`]). `GET /openapi.json` says all this to tools. Answers are compressed for
//!   those that read that ([`compress`]).
//! - `GET /` is the page ([`page`]); [`sessions`] last over several requests, and list what runs.
//! - `GET /health`, `GET /metrics`.
//!
//! A browser may be made to send requests by pages of others, and to think that a name of theirs is this machine: so a request whose `Host` is neither an
//! address nor a name that is known, or whose `Origin` is another one than its `Host`, is refused ([`check_places`]).

mod answer;
mod compress;
mod failure;
mod files;
mod insert;
mod olap;
mod page;
mod query;
mod sessions;

pub use files::{Answers, PROTOCOL};
pub use sessions::Sessions;

use crate::listen::{Address, Visitor};
use crate::log;
use crate::metrics::count;
use crate::patient::Patient;
use crate::postgres::AnySocket;
use crate::served::{Phase, Served};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use failure::Failure;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use sessions::Who;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

/// How long a client may take for the head of a request, and for the beginning of encryption.
const HEAD_MAX: Duration = Duration::from_secs(30);
/// Bytes of a request that are read ahead.
const BUFFER_BYTES: usize = 64 << 10;

/// A client, as requests know it.
#[derive(Clone)]
struct Door {
    served: Arc<Served>,
    address: Address,
}

/// Serves a client until it goes.
pub async fn serve(visitor: Visitor) {
    let Visitor { socket, address, served, tls } = visitor;
    let socket = Patient::new(socket);
    let socket: AnySocket = match tls {
        Some(tls) => match tokio::time::timeout(HEAD_MAX, tls.accept(socket)).await {
            Ok(Ok(socket)) => Box::new(socket),
            Ok(Err(_)) | Err(_) => return,
        },
        None => Box::new(socket),
    };
    let mut phase = served.phase();
    let door = Door { served, address };
    let app = Router::new()
        .route("/query", get(query::read).post(query::write))
        .route("/insert/{table}", post(insert::insert))
        .route("/olap/{table}", get(olap::read))
        .route("/metrics", get(metrics))
        .route("/session", post(sessions::begin))
        .route("/session/{name}", delete(sessions::end))
        .route("/statements", get(sessions::statements))
        .route("/statements/{id}", delete(sessions::cancel))
        .fallback(|| async {
            Failure::new(StatusCode::NOT_FOUND, "42P01", "there is nothing here; POST /query runs statements")
        })
        .method_not_allowed_fallback(|| async {
            Failure::new(StatusCode::METHOD_NOT_ALLOWED, "0A000", "this method is not for this place")
        })
        .layer(middleware::from_fn_with_state(door.clone(), is_allowed))
        // Who asks whether the server is there, or for what is the same for everybody, need not be known.
        .route("/health", get(|| async { "ok\n" }))
        .route("/openapi.json", get(openapi))
        .merge(page::routes())
        .layer(middleware::from_fn_with_state(door.clone(), check_places))
        .layer(middleware::from_fn(compress::compressed))
        .with_state(door);
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_MAX)
        .max_buf_size(BUFFER_BYTES)
        .serve_connection(TokioIo::new(socket), TowerToHyperService::new(app));
    let mut connection = pin!(connection);
    tokio::select! {
        // How a socket ends is nobody's business: the client is gone.
        _ = connection.as_mut() => return,
        _ = phase.wait_for(|phase| *phase > Phase::Open) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// What there is to ask for, as tools read it.
async fn openapi() -> Response {
    const TEXT: &str = include_str!("openapi.json");
    let text = TEXT.replace("{version}", env!("CARGO_PKG_VERSION"));
    ([(CONTENT_TYPE, HeaderValue::from_static("application/json"))], text).into_response()
}

async fn metrics(State(door): State<Door>) -> Response {
    ([(CONTENT_TYPE, HeaderValue::from_static("text/plain; version=0.0.4"))], door.served.metrics_text())
        .into_response()
}

/// Lets requests through whose `Host` and `Origin` are those of people who mean this server.
async fn check_places(State(door): State<Door>, request: Request, next: Next) -> Response {
    match strange_place(request.headers(), &door.served.options.hosts) {
        Some(failure) => failure.into_response(),
        None => next.run(request).await,
    }
}

fn strange_place(headers: &HeaderMap, names: &[String]) -> Option<Failure> {
    let text = |name| headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap_or("?"));
    let host = text(HOST).unwrap_or("");
    if !is_known_host(host, names) {
        let message = format!("the Host \"{host}\" is not known here; --host of inlay serve makes it so");
        return Some(Failure::new(StatusCode::MISDIRECTED_REQUEST, "42501", message));
    }
    let origin = text(ORIGIN)?;
    let is_other = origin.split_once("://").map(|(_, place)| place) != Some(host);
    let message = || format!("the Origin \"{origin}\" is another place than this one");
    is_other.then(|| Failure::new(StatusCode::FORBIDDEN, "42501", message()))
}

/// Whether a Host is an address, this machine's own name for itself, or one of the names that are known.
fn is_known_host(host: &str, names: &[String]) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(""),
        None => host.split(':').next().unwrap_or(""),
    };
    name.parse::<IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
        || names.iter().any(|known| known.eq_ignore_ascii_case(name) || known.eq_ignore_ascii_case(host))
}

/// Refuses what a page of another site has its browser ask, with or without an `Origin`.
fn of_other_site(headers: &HeaderMap) -> Option<Failure> {
    let site = headers.get("sec-fetch-site")?;
    let is_other = site != "same-origin" && site != "none";
    let message = "a page of another site asked for this";
    is_other.then(|| Failure::new(StatusCode::FORBIDDEN, "42501", message))
}

/// Lets requests through of those who may come.
async fn is_allowed(State(door): State<Door>, mut request: Request, next: Next) -> Response {
    let Door { served, address } = door;
    if let Some(failure) = of_other_site(request.headers()) {
        return failure.into_response();
    }
    if !served.users.asks() {
        request.extensions_mut().insert(Who(None));
        return next.run(request).await;
    }
    if let Some(token) = bearer(request.headers()) {
        // 256 random bits are not guessed, so that nobody has to wait.
        if let Some(role) = served.users.role_of_token(token) {
            request.extensions_mut().insert(Who(Some(role)));
            return next.run(request).await;
        }
        tokio::time::sleep(served.users.tries(address.ip())).await;
    }
    let given = credentials(request.headers());
    let is_told = given.is_some() || bearer(request.headers()).is_some();
    let is_script = request.headers().get("sec-fetch-dest").is_some_and(|dest| dest == "empty");
    if let Some((name, password)) = given {
        let who = Who(Some(name.clone()));
        let is_right = served.users.was_proven(&name, &password) || {
            tokio::time::sleep(served.users.tries(address.ip())).await;
            let asked = Arc::clone(&served);
            // It takes a while, on purpose.
            tokio::task::spawn_blocking(move || asked.users.is_password(&name, &password))
                .await
                .unwrap_or(false)
                .then(|| served.users.succeeded(address.ip()))
                .is_some()
        };
        if is_right {
            request.extensions_mut().insert(who);
            return next.run(request).await;
        }
        count(&served.metrics.failed_logins, 1);
        if !served.options.is_quiet {
            log::event("refused", &[("door", &"http"), ("address", &address), ("code", &"28P01")]);
        }
    }
    let message = match is_told {
        true => "the name, the password or the token is wrong",
        false => "a name and a password are needed, or a token: Authorization: Basic or Bearer",
    };
    let mut response = Failure::new(StatusCode::UNAUTHORIZED, "28P01", message).into_response();
    // A page asks by itself; the browser would put a window of its own before it.
    if !is_script {
        let how = HeaderValue::from_static("Basic realm=\"inlay\", charset=\"UTF-8\"");
        response.headers_mut().insert(WWW_AUTHENTICATE, how);
    }
    response
}

/// The token of a request.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn credentials(headers: &HeaderMap) -> Option<(String, String)> {
    let given = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, encoded) = given.split_once(' ')?;
    let text = scheme.eq_ignore_ascii_case("basic").then(|| STANDARD.decode(encoded.trim()).ok())??;
    let text = String::from_utf8(text).ok()?;
    let (name, password) = text.split_once(':')?;
    Some((name.to_string(), password.to_string()))
}

/// A body that is there already.
fn body_of(text: String) -> Body {
    Body::from(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others_are_no_hosts() {
        let names = ["data.example.org".to_string()];
        for host in [
            "127.0.0.1:8433",
            "localhost:8433",
            "LOCALHOST",
            "[::1]:8433",
            "10.0.0.7",
            "data.example.org",
            "data.example.org:443",
        ] {
            assert!(is_known_host(host, &names), "{host}");
        }
        for host in ["", "evil.org", "localhost.evil.org", "127.0.0.1.evil.org", "[evil]:1", "example.org"] {
            assert!(!is_known_host(host, &names), "{host}");
        }
    }
}
