//! Names of columns from the first line of a file.

use inlay_types::LogicalType;
use inlay_types::keywords::{self, Category};
use std::collections::HashMap;

/// Names of columns that have none.
pub(super) fn default_names(width: usize) -> Vec<String> {
    (0..width).map(|index| format!("column{index}")).collect()
}

/// Names of a header; missing ones are numbered, repeated ones get a suffix.
pub(super) fn names(first: &[Option<String>], width: usize) -> Vec<String> {
    let mut taken = Taken::with_capacity(width);
    let name = |index: usize| {
        let given = first.get(index).cloned().flatten().filter(|name| !name.is_empty());
        unique(given.unwrap_or_else(|| format!("column{index}")), &mut taken)
    };
    (0..width).map(name).collect()
}

/// Names in small letters, with the last number that was put behind each: equal names do not count through the numbers again.
type Taken = HashMap<String, usize>;

fn unique(name: String, taken: &mut Taken) -> String {
    let base = name.to_lowercase();
    let Some(&used) = taken.get(&base) else {
        taken.insert(base, 0);
        return name;
    };
    let mut suffix = used;
    loop {
        suffix += 1;
        let own = format!("{name}_{suffix}");
        let lower = own.to_lowercase();
        if !taken.contains_key(&lower) {
            taken.insert(lower, 0);
            taken.insert(base, suffix);
            return own;
        }
    }
}

/// `normalize_names`: names that need no quotes: letters, digits and underscores, in lower case. One that is
/// a word of the language gets an underscore, but those that DuckDB spares.
pub(super) fn normalize(columns: &mut [(String, LogicalType)]) {
    let mut taken = Taken::with_capacity(columns.len());
    for (name, _) in columns {
        let mut plain = String::with_capacity(name.len());
        for c in name.trim().chars() {
            match plain_letters(c) {
                Some(letters) => plain.push_str(letters),
                None if c.is_ascii_alphanumeric() => plain.push(c.to_ascii_lowercase()),
                None if !plain.ends_with('_') => plain.push('_'),
                None => {}
            }
        }
        let mut plain = plain.trim_matches('_').to_string();
        if plain.is_empty()
            || plain.starts_with(|c: char| c.is_ascii_digit())
            || !matches!(keywords::category_of(&plain), None | Some(Category::ColumnName))
        {
            plain.insert(0, '_');
        }
        *name = unique(plain, &mut taken);
    }
}

/// A letter with an accent, without it.
fn plain_letters(c: char) -> Option<&'static str> {
    let lower = c.to_lowercase().next().unwrap_or(c);
    Some(match lower {
        'à' | 'á' | 'â' | 'ã' | 'ä' | 'å' | 'ā' | 'ă' | 'ą' => "a",
        'ç' | 'ć' | 'č' => "c",
        'ď' | 'đ' => "d",
        'è' | 'é' | 'ê' | 'ë' | 'ē' | 'ė' | 'ę' | 'ě' => "e",
        'ì' | 'í' | 'î' | 'ï' | 'ī' | 'ı' => "i",
        'ł' => "l",
        'ñ' | 'ń' | 'ň' => "n",
        'ò' | 'ó' | 'ô' | 'õ' | 'ö' | 'ø' | 'ő' => "o",
        'ř' => "r",
        'ś' | 'š' | 'ş' => "s",
        'ť' | 'ţ' => "t",
        'ù' | 'ú' | 'û' | 'ü' | 'ū' | 'ů' | 'ű' => "u",
        'ý' | 'ÿ' => "y",
        'ź' | 'ż' | 'ž' => "z",
        'æ' => "ae",
        'œ' => "oe",
        'ß' => "ss",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_plain_and_unique() {
        let given = ["A b", "1x", "select", "é", "A_b", "  -- ", "Größe (m²)"];
        let mut columns: Vec<_> = given.iter().map(|name| (name.to_string(), LogicalType::Varchar)).collect();
        normalize(&mut columns);
        let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a_b", "_1x", "_select", "e", "a_b_1", "_", "grosse_m"]);
    }
}
