//! Addresses as they may be shown: in errors, and in lists of what runs.

use std::borrow::Cow;

/// A text with stars in the place of the passwords and tokens of the addresses in it.
pub fn without_passwords(text: &str) -> Cow<'_, str> {
    if !text.contains("://") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, behind) = rest.split_at(at + 3);
        out.push_str(before);
        let end = behind.find(|c: char| c == '\'' || c == '"' || c.is_whitespace()).unwrap_or(behind.len());
        let (address, after) = behind.split_at(end);
        out.push_str(&masked(address));
        rest = after;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// An address with stars in the place of a password or a token; as long as it was, so that places in a text stay what they are.
fn masked(address: &str) -> String {
    let stars = |text: &str| "*".repeat(text.chars().count());
    let (login, rest) = match address.rsplit_once('@') {
        Some((login, rest)) => (Some(login), rest),
        None => (None, address),
    };
    let login = login.map_or_else(String::new, |login| match login.split_once(':') {
        Some((user, password)) => format!("{user}:{}@", stars(password)),
        None => format!("{login}@"),
    });
    match rest.split_once("token=") {
        Some((before, token)) => format!("{login}{before}token={}", stars(token)),
        None => format!("{login}{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        for (text, shown) in [
            ("ATTACH 'inlay://u:p@h/d' AS x", "ATTACH 'inlay://u:*@h/d' AS x"),
            ("'inlay://u:p:@é@h?token=abc' -- x", "'inlay://u:****@h?token=***' -- x"),
            ("a 'inlay://h' b 'inlay://u@h'", "a 'inlay://h' b 'inlay://u@h'"),
        ] {
            assert_eq!(without_passwords(text), shown);
        }
    }
}
