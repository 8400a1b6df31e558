//! What went wrong, as a status and a JSON object: `{"error": {"code": "42703", "message": ..., "position": 8, ...}}`.

use crate::json;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use inlay::Error;
use std::fmt::Write;

/// See the module documentation.
#[derive(Clone, Debug)]
pub struct Failure {
    status: StatusCode,
    /// The object, without a status.
    text: String,
}

/// What is asked for in a way that is none.
pub fn wrong(message: impl AsRef<str>) -> Failure {
    Failure::new(StatusCode::BAD_REQUEST, "22023", message)
}

impl Failure {
    /// Something that is not the engine's.
    pub fn new(status: StatusCode, code: &str, message: impl AsRef<str>) -> Self {
        let mut text = "{\"error\":{\"code\":".to_string();
        json::write_text(&mut text, code);
        text.push_str(",\"message\":");
        json::write_text(&mut text, message.as_ref());
        text.push_str("}}\n");
        Self { status, text }
    }

    /// An error of the engine.
    pub fn of(error: &Error) -> Self {
        let mut text = "{\"error\":{\"code\":".to_string();
        json::write_text(&mut text, error.sqlstate());
        let mut field = |name: &str, value: &str| {
            let _ = write!(text, ",\"{name}\":");
            json::write_text(&mut text, value);
        };
        field("message", &error.message());
        if let Some(detail) = error.detail() {
            field("detail", &detail);
        }
        if let Some(hint) = error.hint() {
            field("hint", &hint);
        }
        if let Some(place) = error.place().filter(|place| place.of.is_empty()) {
            if let Some(offset) = place.offset {
                let _ = write!(text, ",\"position\":{offset}");
            }
            let _ = write!(text, ",\"line\":{},\"column\":{}", place.line, place.column);
        }
        text.push_str("}}\n");
        Self { status: status_of(error.sqlstate()), text }
    }

    /// An error about a body, which the engine read at a path: what it says, without the path and without a place in a statement.
    pub fn of_body(error: &Error, path: &str) -> Self {
        let code = error.sqlstate();
        // The table is a part of the address.
        let status = if code == "42P01" { StatusCode::NOT_FOUND } else { status_of(code) };
        let failure = Self::new(status, code, error.message().replace(path, "the body"));
        match error.hint() {
            None => failure,
            Some(hint) => failure.with("hint", &hint.replace(path, "the body")),
        }
    }

    /// The same with a field more.
    fn with(mut self, name: &str, value: &str) -> Self {
        self.text.truncate(self.text.trim_end().len() - 2);
        let _ = write!(self.text, ",\"{name}\":");
        json::write_text(&mut self.text, value);
        self.text.push_str("}}\n");
        self
    }

    /// The object.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (self.status, [(CONTENT_TYPE, HeaderValue::from_static("application/json"))], self.text)
            .into_response()
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::of(&error)
    }
}

/// The status for a code.
fn status_of(code: &str) -> StatusCode {
    match (code, code.get(..2).unwrap_or("")) {
        ("42501" | "25006", _) => StatusCode::FORBIDDEN,
        ("57014", _) => StatusCode::GATEWAY_TIMEOUT,
        ("55P03", _) | (_, "53") => StatusCode::SERVICE_UNAVAILABLE,
        (_, "40" | "23") => StatusCode::CONFLICT,
        (_, "XX" | "58") => StatusCode::INTERNAL_SERVER_ERROR,
        (_, _) => StatusCode::BAD_REQUEST,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_places_are_there() {
        let connection = inlay::Database::open_in_memory().unwrap().connect();
        let error = connection.execute("SELECT 'é', nothing").unwrap_err();
        let failure = Failure::of(&error);
        assert_eq!(failure.status, StatusCode::BAD_REQUEST);
        assert!(
            failure.text.contains("\"code\":\"42703\"") && failure.text.contains("\"position\":13"),
            "{}",
            failure.text
        );
        assert_eq!(status_of("53200"), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(status_of("XX000"), StatusCode::INTERNAL_SERVER_ERROR);
    }
}
