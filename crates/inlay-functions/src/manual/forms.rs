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
    form(
        "try",
        Category::General,
        &["try(expression) -> any"],
        "NULL in the rows in which the expression fails",
        "try('a'::INTEGER) = NULL",
    ),
    form(
        "switch",
        Category::General,
        &["switch(key, MAP) -> any", "switch(key, MAP, otherwise) -> any"],
        "the value of a key of a map, else another one or NULL",
        "switch(2, MAP {1: 'a', 2: 'b'}, 'c') = 'b'",
    ),
    form(
        "assert_true",
        Category::General,
        &["assert_true(BOOLEAN) -> NULL", "assert_true(BOOLEAN, message) -> NULL"],
        "fails unless a condition is true",
        "assert_true(1 < 2) = NULL",
    ),
    form(
        "date",
        Category::Date,
        &["date(any) -> DATE"],
        "the day that a text or a moment names",
        "date('2024-02-29') = DATE '2024-02-29'",
    ),
    form("pg_sleep", Category::General, &["pg_sleep(seconds) -> NULL"], "waits", "pg_sleep(0) = NULL"),
    form(
        "date_bin",
        Category::Date,
        &["date_bin(INTERVAL, TIMESTAMP, origin) -> TIMESTAMP"],
        "the start of the bucket of that width, counted from an origin, that a moment is in",
        "date_bin(INTERVAL '15 minutes', TIMESTAMP '2024-02-29 10:40:00', TIMESTAMP '2024-01-01') = TIMESTAMP '2024-02-29 10:30:00'",
    ),
    form(
        "date_subtract",
        Category::Date,
        &[
            "date_subtract(TIMESTAMPTZ, INTERVAL) -> TIMESTAMPTZ",
            "date_subtract(TIMESTAMPTZ, INTERVAL, zone) -> TIMESTAMPTZ",
        ],
        "a moment less an interval, by the clocks of a zone",
        "date_subtract(TIMESTAMP '2024-03-01', INTERVAL '1 day') = TIMESTAMP '2024-02-29 00:00:00'",
    ),
    form(
        "timeofday",
        Category::Date,
        &["timeofday() -> VARCHAR"],
        "the current moment as text",
        "timeofday() IS NOT NULL",
    ),
    form(
        "trim_array",
        Category::List,
        &["trim_array(any[], count) -> any[]"],
        "a list without so many elements at its end",
        "trim_array([1, 2, 3], 2) = '[1]'",
    ),
    form(
        "array_remove",
        Category::List,
        &["array_remove(any[], any) -> any[]"],
        "a list without the elements that equal a value",
        "array_remove([1, 2, 1], 1) = '[2]'",
    ),
    form(
        "array_replace",
        Category::List,
        &["array_replace(any[], any, any) -> any[]"],
        "a list with the elements that equal a value replaced",
        "array_replace([1, 2, 1], 1, 7) = '[7, 2, 7]'",
    ),
    form(
        "array_positions",
        Category::List,
        &["array_positions(any[], any) -> BIGINT[]"],
        "where a value is in a list, from 1",
        "array_positions([4, 5, 4], 4) = '[1, 3]'",
    ),
    form(
        "array_upper",
        Category::List,
        &["array_upper(any[], dimension) -> BIGINT"],
        "the last position in a list, or with dimension 2 in its first element; NULL if there is none",
        "array_upper([4, 5], 1) = 2",
    ),
    form(
        "array_lower",
        Category::List,
        &["array_lower(any[], dimension) -> INTEGER"],
        "the first position in a list, which is 1; NULL if there is none",
        "array_lower([4, 5], 1) = 1",
    ),
    form(
        "jsonb_extract_path",
        Category::Json,
        &["jsonb_extract_path(JSON, key, ...) -> JSON"],
        "the part of a document behind keys and positions from 0",
        "jsonb_extract_path('{\"a\":[1,2]}', 'a', '1') = '2'",
    ),
    form(
        "jsonb_extract_path_text",
        Category::Json,
        &["jsonb_extract_path_text(JSON, key, ...) -> VARCHAR"],
        "the part of a document behind keys and positions from 0, as text without quotes",
        "jsonb_extract_path_text('{\"a\":[\"x\"]}', 'a', '0') = 'x'",
    ),
    form(
        "unpivot_list",
        Category::List,
        &["unpivot_list(any, ...) -> any[]"],
        "a list of the arguments",
        "unpivot_list(4, 5) = '[4, 5]'",
    ),
    form(
        "aggregate",
        Category::List,
        &["aggregate(any[], name) -> any"],
        "the aggregate of that name of the elements of a list",
        "aggregate([1, 2, 3], 'sum') = 6",
    ),
    form(
        "to_ascii",
        Category::Text,
        &["to_ascii(VARCHAR) -> VARCHAR"],
        "a text without accents",
        "to_ascii('é') = 'e'",
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
        "lastval",
        Category::System,
        &["lastval() -> BIGINT"],
        "the number that any sequence gave last in this connection",
        "nextval('a_sequence') - lastval() = 0",
    ),
    form(
        "setval",
        Category::System,
        &["setval(VARCHAR, BIGINT) -> BIGINT", "setval(VARCHAR, BIGINT, BOOLEAN) -> BIGINT"],
        "moves a sequence: the next number is behind that one, or, with false, that one",
        "setval('a_sequence', 10) = 10",
    ),
    form(
        "in_search_path",
        Category::System,
        &["in_search_path(VARCHAR, VARCHAR) -> BOOLEAN"],
        "whether names are looked for in a schema of a database",
        "in_search_path(current_database(), 'main') = true",
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
            "unnest(STRUCT, keep_parent_names := false) -> its fields as columns",
        ],
        "a row for each element of a list; several lists go in lockstep. In SELECT and in FROM",
        "unnest([1, 2]) = '1, 2'",
    ),
    form(
        "unlist",
        Category::Table,
        &["unlist(any[]) -> any"],
        "unnest of a list, in SELECT",
        "unlist([1, 2]) = '1, 2'",
    ),
    form(
        "string_to_table",
        Category::Table,
        &["string_to_table(VARCHAR, separator) -> VARCHAR"],
        "a row for each part of a text between separators. In SELECT and in FROM",
        "string_to_table('a,b', ',') = 'a, b'",
    ),
    form(
        "json_array_elements",
        Category::Table,
        &["json_array_elements(JSON) -> JSON"],
        "a row for each item of an array. In SELECT and in FROM",
        "json_array_elements('[1,2]') = '1, 2'",
    )
    .aliases(&["jsonb_array_elements"]),
    form(
        "json_array_elements_text",
        Category::Table,
        &["json_array_elements_text(JSON) -> VARCHAR"],
        "a row for each item of an array, as text without quotes. In SELECT and in FROM",
        "json_array_elements_text('[1,2]') = '1, 2'",
    )
    .aliases(&["jsonb_array_elements_text"]),
    form(
        "json_object_keys",
        Category::Table,
        &["json_object_keys(JSON) -> VARCHAR"],
        "a row for each key of an object. In SELECT and in FROM",
        "json_object_keys(json_object('a', 1, 'b', 2)) = 'a, b'",
    )
    .aliases(&["jsonb_object_keys"]),
    form(
        "json_to_record",
        Category::Table,
        &["json_to_record(JSON) AS t(name type, ...)"],
        "an object as a row of the columns that are named behind it",
        "* FROM json_to_record('{\"a\":1,\"b\":2}') AS t(a INTEGER) = '1'",
    )
    .aliases(&["jsonb_to_record"])
    .kind(Kind::Table),
    form(
        "json_to_recordset",
        Category::Table,
        &["json_to_recordset(JSON) AS t(name type, ...)"],
        "a row for each object of an array, of the columns that are named behind it",
        "* FROM json_to_recordset('[{\"a\":1},{\"a\":2}]') AS t(a INTEGER) = '1, 2'",
    )
    .aliases(&["jsonb_to_recordset"])
    .kind(Kind::Table),
    form(
        "jsonb_path_query",
        Category::Table,
        &["jsonb_path_query(JSON, path, JSON vars, BOOLEAN silent) -> JSON"],
        "a row for each part of a document that a path of the SQL standard leads to. In SELECT and in FROM",
        "jsonb_path_query('[1,2,3]', '$[*] ? (@ > 1)') = '2, 3'",
    )
    .aliases(&["jsonb_path_query_tz"]),
    form(
        "range",
        Category::Table,
        &["range(end)", "range(start, end)", "range(start, end, step)"],
        "numbers from start (0) to below end",
        "* FROM range(3) = '0, 1, 2'",
    )
    .kind(Kind::Table),
];
