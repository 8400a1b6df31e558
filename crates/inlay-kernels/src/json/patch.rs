//! Patches that are the same for many documents (RFC 7396), applied to a document as it is written, without a tree of it.

use super::members::SEARCHED_MAX;
use super::scan::{Scanner, is_name};
use super::value::{Json, quote};

/// A patch of few members, none of which is an object: such a one is merged with what is there.
pub struct Patch {
    changes: Vec<Change>,
}

struct Change {
    name: String,
    /// The member without spaces; `None` where it is to go.
    written: Option<String>,
}

impl Patch {
    /// The patch, if it is such a one.
    pub fn of(patch: &Json<'_>) -> Option<Self> {
        let Json::Object(members) = patch else { return None };
        if members.len() > SEARCHED_MAX {
            return None;
        }
        let mut changes: Vec<Change> = Vec::with_capacity(members.len());
        for (name, value) in members {
            if matches!(value, Json::Object(_)) || changes.iter().any(|change| change.name == **name) {
                return None;
            }
            let written = (*value != Json::Null).then(|| {
                let mut written = String::new();
                quote(name, &mut written);
                written.push(':');
                value.write(&mut written);
                written
            });
            changes.push(Change { name: name.to_string(), written });
        }
        Some(Self { changes })
    }

    /// Appends a document with what the patch says, as [`Json::merged`] makes it. Whether that was done: other documents than plain
    /// objects have to be read into a tree.
    pub fn apply(&self, document: &str, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        let is_done = self.applied(document, out).is_some();
        if !is_done {
            out.truncate(start);
        }
        is_done
    }

    fn applied(&self, document: &str, out: &mut Vec<u8>) -> Option<()> {
        let mut scanner = Scanner::new(document);
        scanner.space();
        if scanner.peek()? != b'{' {
            return None;
        }
        let start = out.len() + 1;
        out.push(b'{');
        let separate = |out: &mut Vec<u8>| {
            if out.len() > start {
                out.push(b',');
            }
        };
        // Which changes were made: of several members of a name the first one is changed.
        let (mut made, mut is_first) = (0u32, true);
        while let Some(name) = scanner.next_member(0, is_first)? {
            is_first = false;
            let raw = scanner.raw(1)?;
            let change = self.changes.iter().position(|change| is_name(name, change.name.as_bytes()));
            match change.filter(|change| made & 1 << change == 0) {
                Some(change) => {
                    made |= 1 << change;
                    if let Some(written) = &self.changes[change].written {
                        separate(out);
                        out.extend_from_slice(written.as_bytes());
                    }
                }
                None => {
                    separate(out);
                    out.push(b'"');
                    out.extend_from_slice(name);
                    out.extend_from_slice(b"\":");
                    raw.write(out).then_some(())?;
                }
            }
        }
        if !scanner.is_at_end() {
            return None;
        }
        for (index, change) in self.changes.iter().enumerate() {
            if let Some(written) = change.written.as_ref().filter(|_| made & 1 << index == 0) {
                separate(out);
                out.extend_from_slice(written.as_bytes());
            }
        }
        out.push(b'}');
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_change_documents_as_their_trees_do() {
        let documents = [
            "{}",
            " { } ",
            r#"{"a": 1}"#,
            r#"{"a": 1, "b": {"c": "x  y", "d": [1, 2, null]}, "z": true}"#,
            r#"{"z": 1, "a": 2, "z": 3, "z": {"a": 4}}"#,
            r#"{"a\u0062": 1, "z": 2}"#,
            r#"{"ä": "ö\n", "z": -0.0, "y": 1e400, "x": NaN, "w": 12345678901234567890123}"#,
            "[1, 2]",
            "5",
            "null",
            r#"{"a": 1,}"#,
            r#"{"a": 1} x"#,
            r#"{"a": }"#,
            "{",
            "",
        ];
        let patches = [
            ("{}", true),
            (r#"{"z": 1}"#, true),
            (r#"{"z": null}"#, true),
            (r#"{"z": null, "a": [1, {"b": null}], "new": "\" ä", "a\"b": 2}"#, true),
            (r#"{"ab": 7, "ä": 1.50}"#, true),
            (r#"{"z": {"a": 1}}"#, false),
            (r#"{"z": 1, "z": 2}"#, false),
            ("5", false),
        ];
        for (patch, is_such) in patches {
            let known = Patch::of(&Json::parse(patch).unwrap());
            assert_eq!(known.is_some(), is_such, "{patch}");
            let Some(known) = known else { continue };
            for document in documents {
                let mut out = b"x".to_vec();
                let tree = Json::parse(document).map(|tree| tree.merged(Json::parse(patch).unwrap()));
                if known.apply(document, &mut out) {
                    let mut expected = "x".to_string();
                    tree.unwrap().write(&mut expected);
                    assert_eq!(String::from_utf8(out).unwrap(), expected, "{document} {patch}");
                } else {
                    assert_eq!(out, b"x");
                    let is_plain = document.starts_with(r#"{"a": 1, "b""#) || document == "{}";
                    assert!(!is_plain, "{document} {patch}");
                }
            }
        }
    }
}
