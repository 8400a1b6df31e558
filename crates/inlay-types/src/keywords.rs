//! The words of the language: one list for names that need quotes, `duckdb_keywords()`, and completion.
//!
//! Words and categories are DuckDB's, which has PostgreSQL's four. A test goes through all of them in every place that takes a name.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Where a word may be a name without quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// Nowhere, but as an alias behind AS.
    Reserved,
    /// As a type or a function, not as a table or a column.
    TypeFunction,
    /// As a table or a column, not as a type or a function.
    ColumnName,
    /// Everywhere.
    Unreserved,
}

impl Category {
    /// As `duckdb_keywords()` calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reserved => "reserved",
            Self::TypeFunction => "type_function",
            Self::ColumnName => "column_name",
            Self::Unreserved => "unreserved",
        }
    }
}

/// Words of each category, in order.
const WORDS: [(Category, &str); 4] = [
    (Category::Reserved, RESERVED),
    (Category::TypeFunction, TYPE_FUNCTION),
    (Category::ColumnName, COLUMN_NAME),
    (Category::Unreserved, UNRESERVED),
];

const RESERVED: &str = "all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create \
    default deferrable desc describe distinct do else end except false fetch for foreign from group having in \
    initially intersect into lambda lateral leading limit not null offset on only or order pivot pivot_longer \
    pivot_wider placing primary qualify references returning select show some summarize symmetric table then to \
    trailing true union unique unpivot using variadic when where window with";

const TYPE_FUNCTION: &str = "anti asof at authorization binary by collation columns concurrently cross freeze full generated glob ilike \
    inner is isnull join left like map natural notnull outer overlaps positional right semi similar struct \
    tablesample try_cast tuple unpack verbose";

const COLUMN_NAME: &str = "between bigint bit boolean char character coalesce dec decimal exists extract float grouping grouping_id inout \
    int integer interval national nchar none nullif numeric out overlay position precision real row setof smallint \
    substring time timestamp treat trim values varchar xmlattributes xmlconcat xmlelement xmlexists xmlforest \
    xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable";

const UNRESERVED: &str = "abort absolute access action add admin after aggregate also alter always approx assertion assignment attach \
    attribute backward before begin cache call called cascade cascaded catalog centuries century chain \
    characteristics checkpoint class close cluster comment comments commit committed compression configuration \
    conflict connect connection constraints content continue conversion copy cost csv cube current cursor cycle \
    data database day days deallocate decade decades declare defaults deferred definer delete delimiter delimiters \
    depends destroy detach dictionary disable discard disconnect distance document domain double drop each enable \
    encoding encrypted enum error escape event exact exclude excluding exclusive execute explain export \
    export_state extension extensions external family filter first following force forward function functions \
    global grant granted groups handler header hold hour hours identity if ignore immediate immutable implicit \
    import include including increment index indexes inherit inherits inline input insensitive insert install \
    instead invoker isolation json key label language large last leakproof level listen load local location lock \
    locked logged macro mapping match matched materialized maxvalue merge method microsecond microseconds \
    millennia millennium millisecond milliseconds minute minutes minvalue mode month months move name names \
    nearest new next no nothing notify nowait nulls object of off oids old operator option options ordinality \
    others over overriding owned owner parallel parser partial partition partitioned passing password percent \
    persistent plans policy pragma preceding prepare prepared preserve prior privileges procedural procedure \
    program publication quarter quarters quote range read reassign recheck recursive ref referencing refresh \
    register reindex relative release rename repeatable replace replica reset resource resources respect restart \
    restrict returns revoke role rollback rollup rows rule sample savepoint schema schemas scope scroll search \
    second seconds secret secure security sequence sequences serializable server session set sets share similarity \
    simple skip snapshot sorted source sql stable standalone start statement statistics stdin stdout storage \
    stored strict strip subscription sysid system tables tablespace target temp template temporary text ties \
    transaction transform trigger truncate trusted type types unbounded uncommitted unencrypted unknown unlisten \
    unlogged until update use user vacuum valid validate validator value variable varying version view views \
    virtual volatile week weeks whitespace within without work wrapper write xml year years yes zone";

/// All words, in lower case.
pub fn all() -> impl Iterator<Item = (&'static str, Category)> {
    WORDS.into_iter().flat_map(|(category, words)| words.split_whitespace().map(move |word| (word, category)))
}

/// What a word is, in any case; `None` if it is none of the language.
pub fn category_of(word: &str) -> Option<Category> {
    static KNOWN: LazyLock<HashMap<&'static str, Category>> = LazyLock::new(|| all().collect());
    let is_lower = !word.bytes().any(|byte| byte.is_ascii_uppercase());
    if is_lower { KNOWN.get(word).copied() } else { KNOWN.get(word.to_ascii_lowercase().as_str()).copied() }
}

/// Whether a table or a column of this name needs quotes.
pub fn is_reserved(word: &str) -> bool {
    match category_of(word) {
        Some(Category::Reserved | Category::TypeFunction) => true,
        Some(Category::ColumnName | Category::Unreserved) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_there_once() {
        let words: Vec<&str> = all().map(|(word, _)| word).collect();
        let mut distinct = words.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!((words.len(), distinct.len()), (502, 502));
        assert_eq!(category_of("Select"), Some(Category::Reserved));
        assert_eq!([is_reserved("left"), is_reserved("name"), is_reserved("nope")], [true, false, false]);
    }
}
