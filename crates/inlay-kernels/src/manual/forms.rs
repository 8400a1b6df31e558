//! Calls that the binder turns into something else, and what stands in FROM.

use super::{Category, Described, Kind};

const fn form(
    name: &'static str,
    category: Category,
    signatures: &'static [&'static str],
    description: &'static str,
    example: &'static str,
) -> Described {
    Described { name, aliases: &[], kind: Kind::Scalar, category, signatures, description, example }
}

impl Described {
    const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    const fn kind(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }
}

pub(super) static FORMS: &[Described] = &[
    form(
        "coalesce",
        Category::General,
        &["coalesce(any, ...) -> any"],
        "the first argument that is not NULL",
        "coalesce(NULL, 2, 3) = 2",
    ),
    form(
        "ifnull",
        Category::General,
        &["ifnull(any, any) -> any"],
        "the second argument if the first is NULL",
        "ifnull(NULL, 2) = 2",
    )
    .aliases(&["nvl"]),
    form(
        "nullif",
        Category::General,
        &["nullif(any, any) -> any"],
        "NULL if both arguments are equal, else the first",
        "nullif(2, 2) = NULL",
    ),
    form(
        "if",
        Category::General,
        &["if(BOOLEAN, any, any) -> any"],
        "the second argument if the first is true, else the third",
        "if(1 < 2, 'yes', 'no') = 'yes'",
    )
    .aliases(&["iif"]),
    form(
        "typeof",
        Category::General,
        &["typeof(any) -> VARCHAR"],
        "name of the type",
        "typeof(1) = 'INTEGER'",
    ),
    form("version", Category::System, &["version() -> VARCHAR"], "version of the engine", "version()"),
    form(
        "current_database",
        Category::System,
        &["current_database() -> VARCHAR"],
        "name of the database",
        "current_database()",
    )
    .aliases(&["current_catalog"]),
    form(
        "current_schema",
        Category::System,
        &["current_schema() -> VARCHAR"],
        "name of the schema",
        "current_schema() = 'main'",
    ),
    form(
        "current_setting",
        Category::System,
        &["current_setting(VARCHAR) -> any"],
        "value of a setting",
        "current_setting('threads') > 0 = true",
    ),
    form(
        "getvariable",
        Category::System,
        &["getvariable(VARCHAR) -> any"],
        "value that SET VARIABLE gave a name; NULL if there is none",
        "getvariable('nothing') = NULL",
    ),
    form(
        "nextval",
        Category::System,
        &["nextval(VARCHAR) -> BIGINT"],
        "the next number of a sequence",
        "nextval('a_sequence') = 1",
    ),
    form(
        "currval",
        Category::System,
        &["currval(VARCHAR) -> BIGINT"],
        "the number that the sequence gave last",
        "nextval('a_sequence') - currval('a_sequence') = 0",
    ),
    form(
        "merge_action",
        Category::System,
        &["merge_action() -> VARCHAR"],
        "what MERGE did to the row; possible in its RETURNING",
        "",
    ),
    form(
        "unnest",
        Category::Table,
        &[
            "unnest(any[], recursive := false, max_depth := 1) -> any",
            "unnest(STRUCT) -> its fields as columns",
        ],
        "a row for each element of a list; several lists go in lockstep. In SELECT and in FROM",
        "unnest([1, 2]) = '1, 2'",
    ),
    form(
        "range",
        Category::Table,
        &["range(end)", "range(start, end)", "range(start, end, step)"],
        "numbers from start (0) to below end",
        "* FROM range(3) = '0, 1, 2'",
    )
    .kind(Kind::Table),
];
