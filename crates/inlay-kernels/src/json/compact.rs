//! Documents without the white space between their parts: one that stands inside of another, or in a file of a document a line, has none.

use inlay_types::append::push_short;

/// Appends a document without the spaces and line ends between its parts; what is no document keeps the texts that it has in quotes.
pub fn push_compact(out: &mut Vec<u8>, document: &[u8]) {
    if !document.iter().fold(false, |any, byte| any | is_space(*byte)) {
        return push_short(out, document);
    }
    out.reserve(document.len());
    let (mut in_text, mut is_escaped) = (false, false);
    for &byte in document {
        if !in_text && is_space(byte) {
            continue;
        }
        out.push(byte);
        if byte == b'"' && !is_escaped {
            in_text = !in_text;
        }
        is_escaped = in_text && byte == b'\\' && !is_escaped;
    }
}

/// The same as text.
pub fn compact(document: &str) -> String {
    let mut out = Vec::new();
    push_compact(&mut out, document.as_bytes());
    // Single ASCII bytes were left out.
    String::from_utf8_lossy(&out).into_owned()
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::value::Json;

    #[test]
    fn only_what_lies_between_parts_goes() {
        for (document, expected) in [
            ("{\"a\":\n 1}", "{\"a\":1}"),
            ("{\"a b\" : \"c \\\" d\\\\\" , \"e\":\t[1 ,\r\n 2]}", "{\"a b\":\"c \\\" d\\\\\",\"e\":[1,2]}"),
            ("\"ü  \\n\"", "\"ü  \\n\""),
            (" null ", "null"),
            ("{\"a\":1}", "{\"a\":1}"),
            ("", ""),
        ] {
            assert_eq!(compact(document), expected);
            if !document.is_empty() {
                let both = [document, expected].map(|text| Json::parse(text).unwrap());
                assert_eq!(both[0], both[1], "{document}");
            }
        }
    }
}
