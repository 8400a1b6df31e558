//! `FILENAME_PATTERN` of COPY TO: the names of the files in a folder.
//!
//! `{i}` stands for the number of the file, `{uuid}` or `{uuidv4}` for a random UUID, `{uuidv7}` for one that begins with the time. A
//! pattern without any ends with the number. Other text, braces included, stands for itself, as in DuckDB. What a pattern gives
//! is a name in its folder, never a path.

use inlay_kernels::random::Randomness;
use inlay_types::value::write_uuid;
use inlay_types::{Error, Result};
use std::time::{SystemTime, UNIX_EPOCH};

/// Longest name without its ending.
const NAME_BYTES_MAX: usize = 240;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Number,
    Random,
    Time,
}

/// What stands for what.
const WORDS: [(&str, Part); 4] =
    [("{i}", Part::Number), ("{uuid}", Part::Random), ("{uuidv4}", Part::Random), ("{uuidv7}", Part::Time)];

/// A pattern for names of files.
pub(super) struct NamePattern {
    parts: Vec<Part>,
    random: Randomness,
}

impl Default for NamePattern {
    /// `data_{i}`.
    fn default() -> Self {
        let parts = vec![Part::Text("data_".to_string()), Part::Number];
        Self { parts, random: Randomness::default() }
    }
}

impl NamePattern {
    /// Whether each name is one that nothing has yet.
    pub fn is_new_each_time(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Random | Part::Time))
    }

    /// The pattern of a text, which must be one for names.
    pub fn of(text: &str) -> Result<Self> {
        let wrong = |what: &str| {
            Err(Error::invalid_argument(format!("FILENAME_PATTERN '{text}' {what}")).with_hint(
                "it is a name, as 'data_{i}' or 'part_{uuid}', for files in the folder that COPY writes to",
            ))
        };
        if text.is_empty() {
            return wrong("is empty");
        }
        let is_odd =
            |char: char| matches!(char, '/' | '\\') || char.is_control() || (cfg!(windows) && char == ':');
        if let Some(odd) = text.chars().find(|&char| is_odd(char)) {
            return wrong(&format!("holds {odd:?}"));
        }
        if text.len() > NAME_BYTES_MAX {
            return wrong(&format!("has more than {NAME_BYTES_MAX} bytes"));
        }
        let mut parts = parts_of(text);
        if parts.iter().all(|part| matches!(part, Part::Text(_))) {
            parts.push(Part::Number);
        }
        Ok(Self { parts, random: Randomness::default() })
    }

    /// A name, without its ending.
    pub fn name(&self, number: usize) -> Result<String> {
        let mut name = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => name.push_str(text),
                Part::Number => name.push_str(&number.to_string()),
                Part::Random => write_uuid(&mut name, versioned(self.random.wide_bits(), 4)),
                Part::Time => write_uuid(&mut name, versioned(begun(self.random.wide_bits()), 7)),
            }
        }
        if name.len() > NAME_BYTES_MAX {
            let message = format!("FILENAME_PATTERN makes a name of {} bytes", name.len());
            let hint = format!("files have at most {NAME_BYTES_MAX}");
            return Err(Error::invalid_argument(message).with_hint(hint));
        }
        Ok(name)
    }
}

fn parts_of(text: &str) -> Vec<Part> {
    let (mut parts, mut rest) = (Vec::new(), text);
    let next = |text: &str| {
        WORDS.iter().filter_map(|word| Some((text.find(word.0)?, word))).min_by_key(|(at, _)| *at)
    };
    while let Some((at, (word, part))) = next(rest) {
        if at > 0 {
            parts.push(Part::Text(rest[..at].to_string()));
        }
        parts.push(part.clone());
        rest = &rest[at + word.len()..];
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest.to_string()));
    }
    parts
}

/// The bits with version and variant of a UUID.
fn versioned(bits: u128, version: u128) -> u128 {
    (bits & !(0xf << 76) & !(0b11 << 62)) | version << 76 | 0b10 << 62
}

/// The bits behind milliseconds since 1970.
fn begun(bits: u128) -> u128 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    (now & 0xffff_ffff_ffff) << 80 | bits & ((1 << 80) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(pattern: &str) -> String {
        NamePattern::of(pattern).unwrap().name(3).unwrap()
    }

    #[test]
    fn words_stand_for_numbers_and_uuids() {
        assert_eq!(name("f"), "f3");
        assert_eq!(name("f_{i}_x"), "f_3_x");
        assert_eq!(name("{i}{i}"), "33");
        assert_eq!(name("a{j}.b"), "a{j}.b3");
        for (pattern, version) in [("f_{uuid}", '4'), ("f_{uuidv4}", '4'), ("f_{uuidv7}", '7')] {
            let (made, again) = (name(pattern), name(pattern));
            assert!(made.len() == 38 && made.chars().nth(16) == Some(version) && made != again, "{made}");
            assert!("89ab".contains(made.chars().nth(21).unwrap()), "{made}");
        }
        let both = name("{uuid}_{i}");
        assert!(both.ends_with("_3") && both.len() == 38, "{both}");
    }

    #[test]
    fn a_pattern_is_no_path() {
        for pattern in
            ["", "../x", "a/b", "/x", "..\\x", "a\\b", "a\0b", "a\nb", "{i}/{uuid}", &"x".repeat(300)]
        {
            assert!(NamePattern::of(pattern).is_err(), "{pattern:?}");
        }
        assert!(NamePattern::of(&"{uuid}".repeat(8)).unwrap().name(0).is_err());
        // Names that only look like paths.
        assert_eq!((name(".."), name("..{i}")), ("..3".to_string(), "..3".to_string()));
    }
}
