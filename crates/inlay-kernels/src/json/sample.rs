//! What many documents have in common, found out one after the other.
//!
//! Documents that repeat the [`Pattern`] of the one before differ in the types of their texts, numbers and words alone, which are
//! joined place by place; the tree is made once for all of them.

use super::documents::Shape;
use super::pattern::Pattern;
use super::scan::Place;
use super::value::Json;
use inlay_types::{LogicalType, Result};

/// Documents of another pattern than the one before cost as much as so many others gain; with nothing left, patterns are given up.
const CREDIT: u32 = 64;
const MISS: u32 = 8;

/// The shape of documents so far.
pub struct Sample {
    depth_max: usize,
    shape: Shape,
    repeated: Option<Repeated>,
    credit: u32,
}

/// Documents of one pattern, which are not in the shape yet.
struct Repeated {
    pattern: Pattern,
    model: String,
    count: u64,
    /// Of each text, number and word what all documents have in common there.
    leaves: Vec<Shape>,
    places: Vec<Place>,
}

impl Sample {
    /// Of no documents, whose shapes go down to `depth_max` levels.
    pub fn new(depth_max: usize) -> Self {
        Self { depth_max, shape: Shape::Unknown, repeated: None, credit: CREDIT }
    }

    /// Looks at the next document.
    pub fn add(&mut self, document: &str) -> Result<()> {
        if let Some(repeated) = &mut self.repeated
            && repeated.add(document)?
        {
            self.credit = CREDIT.min(self.credit + 1);
            return Ok(());
        }
        self.settle()?;
        self.join(Shape::of(document, self.depth_max)?);
        self.credit = self.credit.saturating_sub(MISS);
        // Where levels are cut off, leaves below are of no interest.
        if self.credit > 0 && self.depth_max == usize::MAX {
            self.repeated = Repeated::of(document);
        }
        Ok(())
    }

    /// The shape of all documents.
    pub fn finish(mut self) -> Result<Shape> {
        self.settle()?;
        Ok(self.shape)
    }

    fn join(&mut self, other: Shape) {
        self.shape = std::mem::replace(&mut self.shape, Shape::Unknown).joined(other);
    }

    fn settle(&mut self) -> Result<()> {
        let Some(repeated) = self.repeated.take().filter(|repeated| repeated.count > 0) else {
            return Ok(());
        };
        let mut leaves = repeated.leaves.into_iter();
        let mut next = |_: &Json<'_>| leaves.next().unwrap_or(Shape::Any);
        let shape = Shape::of_part(&Json::parse(&repeated.model)?, usize::MAX, &mut next);
        self.join(shape.times(repeated.count));
        Ok(())
    }
}

impl Repeated {
    /// Those like a document, which is not among them.
    fn of(document: &str) -> Option<Self> {
        let (pattern, mut places) = (Pattern::of(document.as_bytes(), None)?, Vec::new());
        pattern.scalars(document.as_bytes(), &mut places).then_some(())?;
        let leaves = places.iter().map(|_| Shape::Unknown).collect();
        Some(Self { pattern, model: document.to_string(), count: 0, leaves, places })
    }

    /// Adds a document if it is like the others.
    fn add(&mut self, document: &str) -> Result<bool> {
        if !self.pattern.scalars(document.as_bytes(), &mut self.places) {
            return Ok(false);
        }
        for (leaf, (from, to, is_plain)) in self.leaves.iter_mut().zip(&self.places) {
            join_leaf(leaf, document.get(*from..*to).unwrap_or_default(), *is_plain)?;
        }
        self.count += 1;
        Ok(true)
    }
}

/// Joins the shape of a text, number or word as it is written with those at its place.
fn join_leaf(leaf: &mut Shape, written: &str, is_plain: bool) -> Result<()> {
    let plain_text = || written.strip_prefix('"')?.strip_suffix('"');
    let found = match written.as_bytes().first() {
        Some(b'n') => return Ok(()),
        Some(b't' | b'f') => Shape::Plain(LogicalType::Boolean),
        // Whatever is written: texts are texts, and numbers DOUBLE, from then on.
        Some(b'"') if *leaf == Shape::Plain(LogicalType::Varchar) => return Ok(()),
        Some(b'-' | b'0'..=b'9') if *leaf == Shape::Plain(LogicalType::Double) => return Ok(()),
        Some(b'-' | b'0'..=b'9') if is_plain => Shape::Plain(LogicalType::BigInt),
        Some(_) | None => match plain_text().filter(|_| is_plain) {
            Some(text) => Shape::of_text(text),
            None => Shape::of(written, usize::MAX)?,
        },
    };
    if *leaf != found {
        *leaf = std::mem::replace(leaf, Shape::Unknown).joined(found);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_by_one(documents: &[&str], depth: usize) -> Shape {
        let shapes = documents.iter().map(|document| Shape::of(document, depth).unwrap());
        shapes.fold(Shape::Unknown, Shape::joined)
    }

    #[test]
    fn documents_together_have_the_shape_that_each_adds_to() {
        let values = [
            "1",
            "-5",
            "1.5",
            "-0",
            "12345678901234567890",
            "1e400",
            "true",
            "null",
            "\"text\"",
            "\"2024-02-29\"",
            "\"2024-02-29 10:00:00\"",
            "\"10:00:00\"",
            "\"2024-02-30\"",
            "\"with \\\" quote\"",
            "\"\\u0041\"",
            "NaN",
            "123456789012345678901234567890.5",
        ];
        let frames = [
            ("{\"a\": ", ", \"b\": {\"c\": ", "}}"),
            ("{\"a\": [", ", {\"x\": ", "}, [], {}]}"),
            ("[", ", ", "]"),
            ("{\"a\": ", ", \"a\": ", "}"),
        ];
        let mut state = 7u64;
        let mut below = |bound: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % bound
        };
        for round in 0..300 {
            let (kinds, width) = (1 + below(frames.len()), 1 + below(values.len()));
            let documents: Vec<String> = (0..below(40))
                .map(|_| {
                    let (before, between, behind) = frames[below(kinds)];
                    format!("{before}{}{between}{}{behind}", values[below(width)], values[below(width)])
                })
                .collect();
            let documents: Vec<&str> = documents.iter().map(String::as_str).collect();
            for depth in [usize::MAX, 2] {
                let mut sample = Sample::new(depth);
                documents.iter().for_each(|document| sample.add(document).unwrap());
                assert_eq!(sample.finish().unwrap(), one_by_one(&documents, depth), "{round}: {documents:?}");
            }
        }
    }
}
