//! Parts of documents with a line for each part of theirs, without trees.

use super::scan::{Raw, behind_space, is_space, plain_prefix};

impl Raw<'_> {
    /// Appends it with a line for each part, as [`super::value::Json::write_pretty`] does, if it is plain.
    pub fn write_pretty(&self, out: &mut Vec<u8>) -> bool {
        if !self.is_plain {
            return false;
        }
        let line = |out: &mut Vec<u8>, level: usize| {
            out.push(b'\n');
            (0..level).for_each(|_| out.extend_from_slice(b"    "));
        };
        let (text, mut at, mut level) = (self.text.as_bytes(), 0, 0usize);
        while let Some(&byte) = text.get(at) {
            at += 1;
            match byte {
                b'{' | b'[' => {
                    out.push(byte);
                    at = behind_space(text, at);
                    if let Some(&end) = text.get(at)
                        && end == byte + 2
                    {
                        out.push(end);
                        at += 1;
                    } else {
                        level += 1;
                        line(out, level);
                    }
                }
                b'}' | b']' => {
                    level = level.saturating_sub(1);
                    line(out, level);
                    out.push(byte);
                }
                b',' => {
                    out.push(byte);
                    line(out, level);
                }
                b':' => out.extend_from_slice(b": "),
                b'"' => {
                    // In texts, which have no quotes inside, everything stays.
                    let end = at + plain_prefix(&text[at..]);
                    let end = end + text[end..].iter().take_while(|byte| **byte != b'"').count() + 1;
                    let end = end.min(text.len());
                    out.extend_from_slice(&text[at - 1..end]);
                    at = end;
                }
                byte if is_space(byte) => {}
                byte => out.push(byte),
            }
        }
        true
    }
}
