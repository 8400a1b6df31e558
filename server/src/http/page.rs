//! The page at `/`: files that are part of the program, so that it needs neither an installation nor a network.
//!
//! They are the same for everybody and are given to whoever asks; what the page asks for needs a login like any request.

use super::Door;
use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

/// What a file is, by where it is asked for.
type File = (&'static str, &'static str, &'static [u8]);

macro_rules! files {
    ($($kind:literal: $($path:literal)+;)+) => {
        &[$($((concat!("/", $path), $kind, include_bytes!(concat!("../../page/", $path)))),+),+]
    };
}

const FILES: &[File] = files! {
    "text/html; charset=utf-8": "index.html";
    "text/css; charset=utf-8": "style.css";
    "image/svg+xml": "icon.svg";
    "text/plain; charset=utf-8": "vendor/LICENSES.txt";
    "text/javascript; charset=utf-8":
        "js/api.js" "js/app.js" "js/catalog.js" "js/chart.js" "js/complete.js" "js/dom.js" "js/draw.js" "js/editor.js"
        "js/grid.js" "js/plan.js" "js/result.js" "js/side.js" "js/sql.js" "js/store.js" "js/values.js" "vendor/codemirror.js";
};

/// Nothing of any other place is loaded or asked, and no other page has this one in a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The routes of the files.
pub fn routes() -> Router<Door> {
    let mut routes = Router::new();
    for file in FILES {
        let (path, ..) = *file;
        routes = routes.route(path, get(move || async { answer(*file) }));
        if path == "/index.html" {
            routes = routes.route("/", get(move || async { answer(*file) }));
        }
    }
    routes
}

fn answer((_, kind, bytes): File) -> Response {
    let headers = [
        (CONTENT_TYPE, kind),
        (CACHE_CONTROL, "no-cache"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
    ];
    let mut response = bytes.into_response();
    let all = response.headers_mut();
    for (name, value) in headers {
        all.insert(name, HeaderValue::from_static(value));
    }
    all.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn files_in(folder: &Path, found: &mut Vec<String>, root: &Path) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                files_in(&path, found, root);
            } else {
                found.push(path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/"));
            }
        }
    }

    /// Whatever the page consists of is given, and nothing that only its authors need.
    #[test]
    fn all_files_of_the_page_are_given() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
        let mut found = Vec::new();
        files_in(&root, &mut found, &root);
        let is_for_authors = |path: &String| {
            path.starts_with("tests/")
                || path.contains("package")
                || path.ends_with(".md")
                || path.ends_with(".sh")
                || path.ends_with(".entry.js")
        };
        found.retain(|path| !is_for_authors(path));
        found.sort();
        let mut given: Vec<String> = FILES.iter().map(|(path, ..)| path[1..].to_string()).collect();
        given.sort();
        assert_eq!(given, found);
    }
}
