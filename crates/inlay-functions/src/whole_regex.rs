//! Expressions that have to fit a whole text and are made of texts with any text between them, as `.*of 1.*` is: what LIKE
//! finds by looking for each text, where an automaton looks at each byte.

use super::like::Pattern;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Dot, Hir, HirKind, Repetition};

/// See the module documentation.
pub(super) struct WholeRegex {
    pattern: Pattern,
    /// No line may end between the texts.
    is_one_line: bool,
}

impl WholeRegex {
    /// The expression, if it is such a one.
    pub(super) fn new(pattern: &str) -> Option<Self> {
        let hir = ParserBuilder::new().build().parse(pattern).ok()?;
        let mut pieces = Pieces { texts: vec![Vec::new()], dots: None };
        pieces.add(&hir)?;
        let is_one_line = pieces.dots == Some(Dot::AnyCharExceptLF);
        // The line that ends in a text of the expression may.
        if is_one_line && pieces.texts.iter().any(|text| text.contains(&b'\n')) {
            return None;
        }
        Some(Self { pattern: Pattern::of_parts(pieces.texts), is_one_line })
    }

    /// Whether the expression fits; `is_line`: no line ends in the text.
    #[inline]
    pub(super) fn fits(&self, text: &[u8], is_line: bool) -> bool {
        self.pattern.matches(text) && (!self.is_one_line || is_line || memchr::memchr(b'\n', text).is_none())
    }
}

/// What was found of an expression.
struct Pieces {
    /// Between each two there is any text.
    texts: Vec<Vec<u8>>,
    /// The characters of which such a text is.
    dots: Option<Dot>,
}

impl Pieces {
    fn add(&mut self, part: &Hir) -> Option<()> {
        match part.kind() {
            HirKind::Empty => Some(()),
            HirKind::Literal(literal) => {
                self.texts.last_mut()?.extend_from_slice(&literal.0);
                Some(())
            }
            HirKind::Repetition(Repetition { min: 0, max: None, sub, .. }) => {
                let is_of = |dot: &Dot| **sub == Hir::dot(*dot);
                let dots = [Dot::AnyCharExceptLF, Dot::AnyChar].into_iter().find(is_of)?;
                self.texts.push(Vec::new());
                (*self.dots.get_or_insert(dots) == dots).then_some(())
            }
            HirKind::Capture(group) => self.add(&group.sub),
            HirKind::Concat(parts) => parts.iter().try_for_each(|part| self.add(part)),
            HirKind::Repetition(_) | HirKind::Class(_) | HirKind::Look(_) | HirKind::Alternation(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex::bytes::Regex;

    #[test]
    fn whole_texts_are_fitted_as_by_the_regex_crate() {
        let patterns = [
            ("", true),
            ("a", true),
            (".*", true),
            (".*a.*", true),
            ("a.*b", true),
            ("a.*?b.*a", true),
            (".*(ab).*", true),
            ("(?s).*a.*", true),
            ("(?s:.*)a\n", true),
            ("a\\.*", false),
            (".*a.", false),
            (".+a", false),
            (".*\na.*", false),
            ("(?s:.*)a.*", false),
            (".*(?i:a)", false),
            (".*a|b", false),
            (".*é.*", true),
            ("^.*a", false),
            (".*a\\.b.*", true),
        ];
        let pieces = ["", "a", "b", "ab", "\n", "é", "a.b", "xyz"];
        let texts = pieces.iter().flat_map(|a| pieces.iter().map(move |b| (a, b)));
        let texts: Vec<String> =
            texts.flat_map(|(a, b)| pieces.iter().map(move |c| format!("{a}{b}{c}"))).collect();
        for (pattern, is_such) in patterns {
            let found = WholeRegex::new(pattern);
            assert_eq!(found.is_some(), is_such, "{pattern}");
            let Some(found) = found else { continue };
            let regex = Regex::new(&format!("\\A(?:{pattern})\\z")).unwrap();
            for text in &texts {
                let is_line = !text.contains('\n');
                for is_line in [false, is_line] {
                    let fits = found.fits(text.as_bytes(), is_line);
                    assert_eq!(fits, regex.is_match(text.as_bytes()), "{pattern} {text:?}");
                }
            }
        }
    }
}
