//! The types in a document, in the form of the document.

use super::members::join_members;
use super::value::Json;
use std::borrow::Cow;
use std::collections::HashMap;

impl<'a> Json<'a> {
    /// The types in a document, in the same form.
    pub fn structure(&self) -> Json<'a> {
        let named = |name: &'static str| Json::Text(Cow::Borrowed(name));
        match self {
            Self::Array(items) => {
                let shapes = joined_all(items.iter().map(Json::structure).collect());
                Json::Array(vec![shapes.unwrap_or_else(|| named("NULL"))])
            }
            Self::Object(members) => {
                Json::Object(members.iter().map(|(key, value)| (key.clone(), value.structure())).collect())
            }
            other => named(other.type_name()),
        }
    }
}

/// The structure that all have in common: [`joined`] for many, each of which may have keys of its own.
fn joined_all(shapes: Vec<Json<'_>>) -> Option<Json<'_>> {
    let is_null = |shape: &Json<'_>| matches!(shape, Json::Text(name) if name == "NULL");
    if !shapes.iter().all(|shape| is_null(shape) || matches!(shape, Json::Object(_)))
        || shapes.iter().filter(|shape| !is_null(shape)).nth(1).is_none()
    {
        return shapes.into_iter().reduce(joined);
    }
    let mut places: HashMap<Cow<'_, str>, usize> = HashMap::new();
    let mut slots: Vec<(Cow<'_, str>, Vec<Json<'_>>)> = Vec::new();
    for shape in shapes {
        let Json::Object(members) = shape else { continue };
        for (key, shape) in members {
            let place = *places.entry(key.clone()).or_insert(slots.len());
            match slots.get_mut(place) {
                Some((_, shapes)) => shapes.push(shape),
                None => slots.push((key, vec![shape])),
            }
        }
    }
    let members = slots.into_iter().filter_map(|(key, shapes)| Some((key, joined_all(shapes)?)));
    Some(Json::Object(members.collect()))
}

/// The structure that two structures have in common.
fn joined<'a>(left: Json<'a>, right: Json<'a>) -> Json<'a> {
    let name = |text: &'static str| Json::Text(Cow::Borrowed(text));
    match (left, right) {
        (left, right) if left == right => left,
        (Json::Text(null), other) | (other, Json::Text(null)) if null == "NULL" => other,
        (Json::Text(left), Json::Text(right)) => {
            let is_number = |text: &str| matches!(text, "UBIGINT" | "BIGINT" | "DOUBLE");
            match (is_number(&left) && is_number(&right), left == "DOUBLE" || right == "DOUBLE") {
                (true, true) => name("DOUBLE"),
                (true, false) => name("BIGINT"),
                (false, _) => name("JSON"),
            }
        }
        (Json::Array(mut left), Json::Array(mut right)) => match (left.pop(), right.pop()) {
            (Some(left), Some(right)) => Json::Array(vec![joined(left, right)]),
            (left, right) => Json::Array(left.or(right).into_iter().collect()),
        },
        (Json::Object(left), Json::Object(right)) => {
            Json::Object(join_members(left, right, |own, shape| match own {
                Some(own) => Some(joined(own, shape)),
                None => Some(shape),
            }))
        }
        _ => name("JSON"),
    }
}
