"""Writes docs/reference/coverage.md: which functions of DuckDB and PostgreSQL are there, by name.

Ours are those of `inlay_functions()`, DuckDB's are from its own catalog, PostgreSQL's from the list below, after
chapter 9 of its manual. Run with the packages `inlay` and `duckdb` installed: `python tests/coverage.py`.
"""

# ruff: noqa: SIM905

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb

import inlay

REFERENCE = Path(__file__).parent.parent / "docs" / "reference"

#: What does the same under another name or as syntax.
SPELLED = {
    "!=": "`<>`",
    "=": "operator of the grammar",
    "<": "operator of the grammar",
    "<=": "operator of the grammar",
    ">": "operator of the grammar",
    ">=": "operator of the grammar",
    "!~~": "`NOT LIKE`",
    "!~~*": "`NOT ILIKE`",
    "!__postfix": "`factorial`",
    "IS DISTINCT FROM": "operator of the grammar",
    "IS NOT DISTINCT FROM": "operator of the grammar",
    "__between": "`BETWEEN`",
    "not_like_escape": "`NOT LIKE ... ESCAPE`",
    "not_ilike_escape": "`NOT ILIKE ... ESCAPE`",
    "ago": "`now() - interval`",
    "date_bin": "`time_bucket`",
    "days_in_month": "`day(last_day(date))`",
    "array_ndims": "the type says",
    "array_dims": "`len`",
    "array_fill": "`list_resize([], count, value)`",
    "json_agg": "`to_json(list(x))`",
    "jsonb_agg": "`to_json(list(x))`",
    "json_group_array": "`to_json(list(x))`",
    "json_build_array": "`json_array`",
    "jsonb_build_array": "`json_array`",
    "json_build_object": "`json_object`",
    "jsonb_build_object": "`json_object`",
    "json_typeof": "`json_type`",
    "jsonb_typeof": "`json_type`",
    "jsonb_array_length": "`json_array_length`",
    "json_object_keys": "`json_keys`",
    "jsonb_object_keys": "`json_keys`",
    "jsonb_pretty": "`json_pretty`",
    "to_jsonb": "`to_json`",
    "json_array_elements": "`unnest(json_extract(x, '$[*]'))`",
    "quote_nullable": "`coalesce(quote_literal(x), 'NULL')`",
    "regexp_count": "`len(regexp_extract_all(...))`",
    "regexp_match": "`regexp_extract`",
    "regexp_substr": "`regexp_extract`",
    "regexp_instr": "`strpos` of `regexp_extract`",
    "timeofday": "`strftime(now(), ...)`",
    "clock_timestamp": "`now()`, the same within a transaction",
    "statement_timestamp": "`now()`, the same within a transaction",
    "to_char": "`strftime`",
    "to_date": "`strptime`",
    "to_number": "`CAST`",
    "percentile_disc": "`quantile_disc`",
    "width_bucket": "`floor((x - low) / width)`",
}

#: Why some are not there.
LEFT_OUT = {
    "arrow_scan": "hosts hand tables over by name",
    "arrow_scan_dumb": "hosts hand tables over by name",
    "pandas_scan": "hosts hand tables over by name",
    "python_arrow_scan": "hosts hand tables over by name",
    "python_map_function": "internal of DuckDB's relational API",
    "remap_struct": "internal: what ALTER of a struct's fields is made of",
    "json_execute_serialized_sql": "runs what only `json_serialize_sql` makes",
    "json_populate_record": "there are no composite types; `json_to_record` names the columns",
    "trim_scale": "the scale belongs to the type of a DECIMAL, not to the value",
    "convert": "texts are UTF-8; `convert_from` and `convert_to` read and write others",
    "numnode": "there is no text search type",
    "range_agg": "there are no range types",
    "xmlagg": "there is no XML type",
    "icu_calendar_names": "there is one calendar",
    "read_duckdb": "files of DuckDB are its own; Parquet carries tables over",
    "which_secret": "`duckdb_secrets()` lists secrets with the URLs that they are for",
    "enable_logging": "the engine writes no log of statements",
    "disable_logging": "the engine writes no log of statements",
    "truncate_duckdb_logs": "the engine writes no log of statements",
    "enable_profiling": "EXPLAIN ANALYZE measures a statement",
    "disable_profiling": "EXPLAIN ANALYZE measures a statement",
}

#: What the binder and the grammar know, and the list of functions does not.
FORMS = set(
    """
list_transform list_apply list_filter list_reduce array_transform array_apply array_filter array_reduce
transform apply filter reduce unnest generate_subscripts regexp_split_to_table grouping current_user
session_user user current_role current_query current_schemas format_type read_csv read_csv_auto read_parquet
parquet_scan read_json read_json_auto read_ndjson read_ndjson_auto read_json_objects read_json_objects_auto
read_ndjson_objects query query_table seq_scan checkpoint force_checkpoint ~* !~ !~*
""".split()
)

#: Not functions for use in queries: collations, internals, catalogs of PostgreSQL, types that do not exist here.
PASSED_OVER = re.compile(
    r"^(icu_)?collate_|^__internal|^pg_|^has_|^st_|^variant_|^duckdb_|^icu_sort_key$|^json_copy_|^inet_"
    r"|_external_resource|^test_|^(create_sort_key|write_log|parse_duckdb_log_message|stats|index_key|vector_type|alias"
    r"|vertex_extract|__cast|invoke|map_to_pg_oid|col_description|obj_description|shobj_description|format_pg_type"
    r"|get_block_size|bitstring_byte_comparable|timetz_byte_comparable|decimal_division|decimal_average"
    r"|to_aggregate_state|finalize|combine|combine_aggr|json_serialize_plan|json_serialize_sql|json_deserialize_sql"
    r"|is_histogram_other_bin|get_type|make_type|replace_type|cast_to_type)$"
)

#: Functions and operators of chapter 9 of PostgreSQL's manual.
POSTGRES = """
abs acos acosd acosh age any_value array_agg array_append array_cat array_dims array_fill array_length
array_lower array_ndims array_position array_positions array_prepend array_remove array_replace array_sample
array_shuffle array_to_json array_to_string array_upper ascii asin asind asinh atan atan2 atan2d atand atanh
avg bit_and bit_count bit_length bit_or bit_xor bool_and bool_or btrim cardinality cbrt ceil ceiling
char_length character_length chr clock_timestamp coalesce concat concat_ws convert convert_from convert_to
corr cos cosd cosh cot cotd count covar_pop covar_samp cume_dist current_catalog current_database current_date
current_query current_role current_schema current_schemas current_setting current_time current_timestamp
current_user currval date_add date_bin date_part date_subtract date_trunc decode degrees dense_rank div encode
enum_first enum_last enum_range erf erfc every exp extract factorial first_value floor format gcd
gen_random_uuid generate_series generate_subscripts get_bit get_byte greatest grouping initcap isfinite
json_agg json_array json_array_elements json_array_elements_text json_array_length json_build_array
json_build_object json_each json_each_text json_exists json_extract_path json_extract_path_text json_object
json_object_agg json_object_keys json_populate_record json_query json_strip_nulls json_to_record json_typeof
json_value jsonb_agg jsonb_array_length jsonb_build_array jsonb_build_object jsonb_extract_path
jsonb_extract_path_text jsonb_insert jsonb_object_keys jsonb_path_exists jsonb_path_query jsonb_pretty
jsonb_set jsonb_strip_nulls jsonb_typeof justify_days justify_hours justify_interval lag last_value lastval
lcm lead least left length ln localtime localtimestamp log log10 lower lpad ltrim make_date make_interval
make_time make_timestamp make_timestamptz max md5 min min_scale mod mode normalize now nth_value ntile nullif
num_nonnulls num_nulls numnode octet_length overlay parse_ident percent_rank percentile_cont percentile_disc
pi position power quote_ident quote_literal quote_nullable radians random random_normal range_agg rank
regexp_count regexp_instr regexp_like regexp_match regexp_matches regexp_replace regexp_split_to_array
regexp_split_to_table regexp_substr regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx
regr_sxy regr_syy repeat replace reverse right round row_number row_to_json rpad rtrim scale session_user
set_bit set_byte setseed setval sha224 sha256 sha384 sha512 sign sin sind sinh split_part sqrt starts_with
statement_timestamp stddev stddev_pop stddev_samp string_agg string_to_array string_to_table strpos substr
substring sum tan tand tanh timeofday to_ascii to_char to_date to_hex to_json to_jsonb to_number to_timestamp
transaction_timestamp translate trim trim_array trim_scale trunc txid_current unistr unnest upper user
uuid_extract_timestamp uuid_extract_version uuidv4 uuidv7 var_pop var_samp variance version width_bucket
xmlagg nextval || ^ % @ & | # ~ << >> ~* !~ !~* ~~ ~~* ^@ @> <@ && -> ->> #> #>> !~~ !~~*
""".split()


def ours() -> set[str]:
    rows = inlay.connect().execute("SELECT DISTINCT function_name FROM inlay_functions()").fetchall()
    return {name.lower() for (name,) in rows} | FORMS


def listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def section(title: str, kinds: dict[str, list[str]], known: set[str]) -> tuple[str, int, int]:
    out, there, all_names = [f"## {title}\n"], 0, 0
    for kind, names in kinds.items():
        have = [n for n in names if n.lower() in known]
        spelled = [n for n in names if n.lower() not in known and n in SPELLED]
        missing = [n for n in names if n.lower() not in known and n not in SPELLED]
        there, all_names = there + len(have) + len(spelled), all_names + len(names)
        out.append(f"### {kind}: {len(have)} of {len(names)}\n")
        out.append(f"There: {listed(have)}.\n")
        if spelled:
            out.append("Spelled differently:\n\n| Name | Here |\n|---|---|")
            out.extend(f"| `{n}` | {SPELLED[n]} |".replace("||", "\\|\\|") for n in spelled)
            out.append("")
        out.append(f"Not there: {listed(missing)}.\n")
        if reasons := [name for name in missing if name in LEFT_OUT]:
            out.append("Left out, and why:\n\n| Name | Reason |\n|---|---|")
            out.extend(f"| `{name}` | {LEFT_OUT[name]} |" for name in reasons)
            out.append("")
    return "\n".join(out), there, all_names


def main() -> None:
    known = ours()
    sql: Any = duckdb.sql
    rows = sql("SELECT DISTINCT function_type, function_name FROM duckdb_functions()").fetchall()
    kinds: dict[str, list[str]] = {}
    titles = {"scalar": "Scalar", "macro": "Scalar", "aggregate": "Aggregate", "table": "Table", "table_macro": "Table"}
    for kind, name in rows:
        if kind in titles and not PASSED_OVER.search(name):
            kinds.setdefault(titles[kind], []).append(name)
    kinds = {kind: sorted(set(names)) for kind, names in sorted(kinds.items())}
    duck, duck_there, duck_all = section(f"DuckDB {duckdb.__version__}", kinds, known)
    postgres, pg_there, pg_all = section("PostgreSQL", {"Functions and operators": sorted(set(POSTGRES))}, known)
    head = (
        "# Coverage\n\nMade by `python tests/coverage.py` from [the list of functions](functions.md), DuckDB's catalog "
        "and PostgreSQL's manual. Names only: overloads and options may differ. Collations, internals, functions of "
        "PostgreSQL's catalogs and of types that do not exist here are passed over.\n\n"
        "| | There or spelled differently | Of |\n|---|---|---|\n"
        f"| DuckDB | {duck_there} | {duck_all} |\n| PostgreSQL | {pg_there} | {pg_all} |\n"
    )
    (REFERENCE / "coverage.md").write_text("\n".join([head, duck, postgres]).rstrip() + "\n")


if __name__ == "__main__":
    main()
