//! What a user who wrote a name that does not exist may have meant.

use std::fmt;

/// The longest name, in bytes, that near names are looked for, and how many names are looked at.
const NAME_SIZE_MAX: usize = 256;
const NAMES_MAX: usize = 20_000;
/// How many names are shown: of those that are like the one written, of those that merely share a part, and where none is.
const NEAR_MAX: usize = 3;
const SHARING_MAX: usize = 5;
const KNOWN_MAX: usize = 10;
/// A name this short is part of too many others.
const PART_SIZE_MIN: usize = 2;

/// Names in place of one that does not exist, in quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Candidates {
    /// Those like it, the nearest first; or none, where nothing is known.
    Near(Vec<String>),
    /// What to do instead.
    Advice(String),
    /// None is like it: the first of those that exist, and how many more there are.
    Known {
        /// The first ones, in their order.
        names: Vec<String>,
        /// How many are not shown.
        more: usize,
    },
}

impl Candidates {
    /// Of `known`, the names that are like `name` or share a part with it; if there are none, the first of all.
    pub fn of<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Self {
        let mut near = near_names(name, known.clone());
        if near.is_empty() {
            near = sharing_names(name, known.clone());
        }
        if !near.is_empty() {
            return Self::Near(near);
        }
        let (mut names, mut more): (Vec<String>, usize) = (Vec::new(), 0);
        for known in known.take(NAMES_MAX).map(quoted) {
            match names.len() < KNOWN_MAX {
                true if names.contains(&known) => {}
                true => names.push(known),
                false => more += 1,
            }
        }
        Self::Known { names, more }
    }
}

impl From<Vec<String>> for Candidates {
    fn from(near: Vec<String>) -> Self {
        Self::Near(near)
    }
}

impl Candidates {
    /// What they tell whoever wrote the name.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Near(names) => match names.as_slice() {
                [] => None,
                [one] => Some(format!("did you mean {one}?")),
                many => Some(format!("did you mean one of {}?", many.join(", "))),
            },
            Self::Advice(advice) => Some(advice.clone()),
            Self::Known { names, more } => match (names.as_slice(), more) {
                ([], _) => None,
                ([one], 0) => Some(format!("there is {one}")),
                (many, 0) => Some(format!("there are {}", many.join(", "))),
                (many, more) => Some(format!("there are {} and {more} more", many.join(", "))),
            },
        }
    }
}

impl fmt::Display for Candidates {
    /// As it follows upon "... does not exist".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.hint().map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

/// Up to three of `known` that a user who wrote `name` may have meant, in quotes, nearest first.
pub fn near_names<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<String> {
    // Nobody mistypes a name this long, and the distance of long names takes long.
    if name.len() > NAME_SIZE_MAX {
        return Vec::new();
    }
    let name = name.to_lowercase();
    let size = name.chars().count();
    let limit = (size / 3).max(1);
    let may_be_near =
        |known: &str| known.len() <= NAME_SIZE_MAX && known.chars().count().abs_diff(size) <= limit;
    let mut near: Vec<(usize, &str)> = known
        .take(NAMES_MAX)
        .filter(|known| may_be_near(known))
        .map(|known| (edit_distance(&name, &known.to_lowercase()), known))
        .filter(|(distance, _)| *distance <= limit)
        .collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().take(NEAR_MAX).map(|(_, known)| quoted(known)).collect()
}

/// Those of `known` that `name` is a part of, or that are a part of it: `amount` for `total_amount`.
fn sharing_names<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<String> {
    if name.len() > NAME_SIZE_MAX || name.chars().count() < PART_SIZE_MIN {
        return Vec::new();
    }
    let name = name.to_lowercase();
    let mut found = Vec::new();
    for known in known.take(NAMES_MAX).filter(|known| known.len() <= NAME_SIZE_MAX) {
        let lower = known.to_lowercase();
        let shares =
            lower.contains(&name) || (lower.chars().count() > PART_SIZE_MIN && name.contains(&lower));
        if shares && !found.contains(&quoted(known)) {
            found.push(quoted(known));
            if found.len() == SHARING_MAX {
                break;
            }
        }
    }
    found
}

/// Optimal string alignment distance: insertions, deletions, substitutions, swaps of neighbours.
fn edit_distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let left: Vec<char> = left.chars().collect();
    let mut rows = vec![vec![0usize; right.len() + 1]; left.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=right.len()).collect();
    for i in 1..=left.len() {
        for j in 1..=right.len() {
            let substitution = rows[i - 1][j - 1] + usize::from(left[i - 1] != right[j - 1]);
            let mut best = substitution.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 3] = ["order_id", "customer_id", "total_amount"];

    fn shown(name: &str) -> String {
        Candidates::of(name, KNOWN.into_iter()).to_string()
    }

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let known = ["customer", "orders", "lineitem"];
        assert_eq!(near_names("costumer", known.into_iter()), ["\"customer\""]);
        assert_eq!(near_names("oders", known.into_iter()), ["\"orders\""]);
        assert!(near_names("xyzzy", known.into_iter()).is_empty());
    }

    #[test]
    fn names_that_share_a_part_come_next_and_then_the_first_of_all() {
        assert_eq!(shown("custmer_id"), "; did you mean \"customer_id\"?");
        assert_eq!(shown("customer"), "; did you mean \"customer_id\"?");
        assert_eq!(shown("AMOUNT"), "; did you mean \"total_amount\"?");
        assert_eq!(shown("id"), "; did you mean one of \"order_id\", \"customer_id\"?");
        assert_eq!(shown("my_total_amount_in_cents"), "; did you mean \"total_amount\"?");
        assert_eq!(shown("xyzzy"), "; there are \"order_id\", \"customer_id\", \"total_amount\"");
        let many: Vec<String> = (0..15).map(|number| format!("c{number}")).collect();
        let many = Candidates::of("zzzz", many.iter().map(String::as_str)).to_string();
        assert!(many.ends_with("\"c9\" and 5 more"), "{many}");
        assert_eq!(Candidates::of("a", [].into_iter()).to_string(), "");
    }
}
