//! How much a statement may list. The parser ends a statement that lists more in its text before it becomes tokens; the
//! binder looks again, as views and stars bring more.

/// Most columns behind SELECT, and of a table.
pub(crate) const ITEMS_MAX: usize = 20_000;
/// Most tables separated by commas in one FROM.
pub(crate) const FROM_MAX: usize = 1_000;
/// Most CTEs of a query and those around it, views among them: each may read the one before it, and plans nest as deep.
pub(crate) const CTES_MAX: usize = 2_000;
/// Most CTEs of a statement: queries beside each other, as those of UNION ALL, have CTEs of their own.
pub(crate) const ALL_CTES_MAX: usize = 50_000;

/// Most AND, OR and set operations in a row, without a comma or parenthesis between them.
pub(super) const CHAIN_MAX: usize = 50_000;
/// Most other operators in a row; each makes an expression deeper, whose depth is limited anyway.
pub(super) const OPERATORS_MAX: usize = 2000;
/// Deepest nesting of parentheses, and of CASE.
pub(super) const PARENTHESES_MAX: usize = 900;
/// Most words in a row that are no operators; no statement has so many.
pub(super) const WORDS_MAX: usize = 2000;
