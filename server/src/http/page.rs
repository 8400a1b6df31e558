//! The page at `/`: files that are part of the program, so that it needs neither an installation nor a network.
//!
//! They are the same for everybody and are given to whoever asks; what the page asks for needs a login like any request.

use super::Door;
use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use files::{FILES, HEADERS};

#[path = "../../page/files.rs"]
mod files;

/// The routes of the files. That of the first is the page's own.
pub fn routes() -> Router<Door> {
    let mut routes = Router::new();
    for (index, &(path, kind, bytes)) in FILES.iter().enumerate() {
        if index == 0 {
            routes = routes.route("/", get(move || async move { answer(kind, bytes) }));
        }
        routes = routes.route(&format!("/{path}"), get(move || async move { answer(kind, bytes) }));
    }
    routes
}

fn answer(kind: &'static str, bytes: &'static [u8]) -> Response {
    let mut response = bytes.into_response();
    let all = response.headers_mut();
    all.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    for (name, value) in HEADERS {
        all.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}
