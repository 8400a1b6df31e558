//! Expressions that are one text whose letters may be in either case, as `(?i)straße 1` is, or have few other characters in a place.
//! What is the same in all such texts, here ` 1`, is looked for as it is, and the characters before and behind it are compared
//! where it lies.

use memchr::memmem::Finder;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

/// Characters that may stand in one place.
const OTHERS_MAX: usize = 4;

/// Longer expressions are better read by a general engine, as no step of it looks at a byte twice.
const PLACES_MAX: usize = 64;

/// The characters of a place in UTF-8, of which at most one is at a place of a text.
type Place = Vec<Vec<u8>>;

/// See the module documentation.
#[derive(Debug)]
pub(super) struct CasedText {
    before: Vec<Place>,
    fixed: Finder<'static>,
    behind: Vec<Place>,
}

impl CasedText {
    /// The expression with these options, if it is such a one.
    pub(super) fn new(pattern: &str, options: &str) -> Option<Self> {
        let ignores_case = options == "i";
        if !ignores_case && !options.is_empty() {
            return None;
        }
        let hir = ParserBuilder::new().case_insensitive(ignores_case).build().parse(pattern).ok()?;
        let mut places = Vec::new();
        add(&hir, &mut places)?;
        let (start, end) = longest_fixed(&places)?;
        let fixed: Vec<u8> = places[start..end].iter().flatten().flatten().copied().collect();
        let behind = places.split_off(end);
        places.truncate(start);
        Some(Self { before: places, fixed: Finder::new(&fixed).into_owned(), behind })
    }

    /// Whether the expression occurs in the text.
    #[inline]
    pub(super) fn occurs(&self, text: &[u8]) -> bool {
        let mut from = 0;
        while let Some(found) = self.fixed.find(&text[from..]) {
            let (start, end) = (from + found, from + found + self.fixed.needle().len());
            if ends_with(&self.before, &text[..start]) && begins_with(&self.behind, &text[end..]) {
                return true;
            }
            from = start + 1;
        }
        false
    }
}

#[inline]
fn ends_with(places: &[Place], mut text: &[u8]) -> bool {
    places.iter().rev().all(|place| {
        let rest = place.iter().find_map(|one| text.strip_suffix(&one[..]));
        rest.inspect(|rest| text = rest).is_some()
    })
}

#[inline]
fn begins_with(places: &[Place], mut text: &[u8]) -> bool {
    places.iter().all(|place| {
        let rest = place.iter().find_map(|one| text.strip_prefix(&one[..]));
        rest.inspect(|rest| text = rest).is_some()
    })
}

/// Adds what stands in each place; `None`: there is more to the expression.
fn add(part: &Hir, places: &mut Vec<Place>) -> Option<()> {
    match part.kind() {
        HirKind::Empty => {}
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).ok()?;
            places.extend(text.chars().map(|c| vec![c.to_string().into_bytes()]));
        }
        HirKind::Class(Class::Unicode(class)) => {
            let count: usize = class.ranges().iter().map(|range| range.len()).sum();
            if !(1..=OTHERS_MAX).contains(&count) {
                return None;
            }
            let all = class.ranges().iter().flat_map(|range| range.start()..=range.end());
            places.push(all.map(|c| c.to_string().into_bytes()).collect());
        }
        HirKind::Capture(group) => add(&group.sub, places)?,
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| add(part, places))?,
        HirKind::Class(Class::Bytes(_))
        | HirKind::Repetition(_)
        | HirKind::Look(_)
        | HirKind::Alternation(_) => return None,
    }
    (places.len() <= PLACES_MAX).then_some(())
}

/// The most places in a row that have one character each.
fn longest_fixed(places: &[Place]) -> Option<(usize, usize)> {
    let (mut best, mut start) = ((0, 0), 0);
    for (index, place) in places.iter().enumerate() {
        if place.len() > 1 {
            start = index + 1;
        } else if index + 1 - start > best.1 - best.0 {
            best = (start, index + 1);
        }
    }
    (best.1 > best.0).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex::bytes::Regex;

    #[test]
    fn texts_in_either_case_are_found_as_the_engine_finds_them() {
        let pieces = ["s", "S", "ſ", "t", "ra", "ß", "ẞ", "e", " ", "1", "1 1", "k", "K", "x", "日", ""];
        let patterns =
            ["(?i)straße 1", "(?i)1s", "(?i)(k)1( )", "1", " 1 ", "[st]1", "(?i)ß1日", "(?i)s 1t e"];
        let mut state = 1u64;
        for pattern in patterns {
            let (cased, regex) = (CasedText::new(pattern, "").unwrap(), Regex::new(pattern).unwrap());
            let mut found = 0;
            for round in 0..6000 {
                let mut text = String::new();
                for _ in 0..round % 14 {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    text.push_str(pieces[(state >> 33) as usize % pieces.len()]);
                }
                if round % 5 == 0 {
                    let inside = pattern.trim_start_matches("(?i)").replace(['(', ')', '[', ']'], "");
                    text.push_str(if round % 2 == 0 {
                        &inside
                    } else {
                        "STRASSE 1STRAẞE 1K1 S1ẞ1日S 1T E"
                    });
                }
                found += usize::from(regex.is_match(text.as_bytes()));
                assert_eq!(
                    cased.occurs(text.as_bytes()),
                    regex.is_match(text.as_bytes()),
                    "{pattern} in {text}"
                );
            }
            assert!(found > 100, "{pattern}");
        }
    }

    #[test]
    fn other_expressions_are_left_to_the_engine() {
        for pattern in
            ["(?i)abc", "a*1", "^1", "a|1", "1.", r"\d1", "1$", "", "(?i)1+", "[a-z]1", r"1\b", "("]
        {
            assert!(CasedText::new(pattern, "").is_none(), "{pattern}");
        }
        assert!(CasedText::new("abc1", "i").unwrap().occurs(b"xABC1"));
        assert!(!CasedText::new("abc1", "").unwrap().occurs(b"xABC1"));
        assert!(CasedText::new("abc1", "s").is_none());
    }
}
