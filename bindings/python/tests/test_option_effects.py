"""
Options of readers and writers have an effect, or are errors: none is taken and dropped.

The names are those of DuckDB's package, and those of the signatures here.
"""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import pytest

import inlay

duckdb = pytest.importorskip("duckdb")


def _of_duckdb(function: str) -> set[str]:
    """Names of a method's options in DuckDB's stubs."""
    for path in Path(duckdb.__file__).parent.parent.glob("_duckdb-stubs/*.pyi"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name == function:
                arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                return {each.arg for each in arguments} - {"self", "path_or_buffer", "file_name", "connection"}
    return set()


def _of_signature(function: Any) -> set[str]:
    known = inspect.signature(function).parameters.values()
    variable = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return {each.name for each in known if each.kind not in variable} - {"self", "path_or_buffer", "file_name"}


#: What a file holds and a value: rows, columns or types are others with it, or it is refused.
CSV: dict[str, tuple[str, Any]] = {
    "all_varchar": ("a\n1\n", True),
    "allow_quoted_nulls": ('a,b\n"",1\nx,2\n', False),
    "auto_detect": ("a;b\n1;2\n", False),
    "auto_type_candidates": ("a\n1\n", ["VARCHAR"]),
    "columns": ("a\n1\n", {"x": "VARCHAR"}),
    "comment": ("a\n1\n!x\n", "!"),
    "compression": ("a\n1\n", "gzip"),
    "date_format": ("a\n01/02/2020\n02/03/2020\n", "%m/%d/%Y"),
    "decimal": ('a;b\n"1,5";2\n', ","),
    "delimiter": ("a|b;c\n1|2;3\n", ";"),
    "dtype": ("a\n1\n", ["VARCHAR"]),
    "encoding": ("a\né\n", "latin-1"),
    "escapechar": ('a,b\n"x!!y",1\n', "!"),
    "filename": ("a\n1\n", True),
    "force_not_null": ("a,b\n,1\nx,2\n", ["a"]),
    "header": ("a\nb\n", False),
    "hive_partitioning": ("a\n1\n", False),
    "hive_types": ("a\n1\n", {"year": "VARCHAR"}),
    "hive_types_autocast": ("a\n1\n", False),
    "ignore_errors": ("a\n1\n" * 2, True),
    "lineterminator": ("a,b\n1,2\n", "\\r"),
    "max_line_size": ("a\n" + "x" * 100 + "\n", 10),
    "na_values": ("a\nx\ny\n", "x"),
    "names": ("a\n1\n", ["z"]),
    "normalize_names": ("a b\n1\n", True),
    "null_padding": ("a,b\n1,2\n3\n", True),
    "quotechar": ("a,b\n'x,y',1\n", "'"),
    "rejects_limit": ("a\n1\n", 1),
    "rejects_scan": ("a\n1\n", "scans"),
    "rejects_table": ("a\n1\n", "errors"),
    "sample_size": ("a\n" + "1\n" * 3000 + "x\n", 10),
    "sep": ("a|b;c\n1|2;3\n", ";"),
    "skiprows": ("x\na\n1\n", 1),
    "store_rejects": ("a\n1\n", True),
    "strict_mode": ('a,b\n"x"y,1\n', False),
    "thousands": ('a;b\n"1,000";2\n', ","),
    "timestamp_format": ("a\n01/02/2020 10:00\n02/03/2020 10:00\n", "%m/%d/%Y %H:%M"),
    "union_by_name": ("a\n1\n", True),
}

JSON: dict[str, tuple[str, Any]] = {
    "columns": ('{"a": 1}\n', {"x": "VARCHAR"}),
    "compression": ('{"a": 1}\n', "gzip"),
    "convert_strings_to_integers": ('{"a": "1"}\n', True),
    "date_format": ('{"a": "01/02/2020"}\n', "%m/%d/%Y"),
    "field_appearance_threshold": ("".join(f'{{"s": {{"k{n}": {n}}}}}\n' for n in range(20)), 0.01),
    "filename": ('{"a": 1}\n', True),
    "format": ('[{"a": 1}]', "newline_delimited"),
    "hive_partitioning": ('{"a": 1}\n', False),
    "hive_types": ('{"a": 1}\n', {"year": "VARCHAR"}),
    "hive_types_autocast": ('{"a": 1}\n', False),
    "ignore_errors": ('{"a": 1}\n{"a": "x"}\n', True),
    "map_inference_threshold": ("".join(f'{{"s": {{"k{n}": {n}}}}}\n' for n in range(20)), -1),
    "maximum_depth": ('{"s": {"a": 1}}\n', 1),
    "records": ('{"a": 1}\n', "false"),
    "sample_size": ('{"a": 1}\n' * 3000 + '{"a": "x"}\n', 10),
    "timestamp_format": ('{"a": "01/02/2020 10"}\n', "%m/%d/%Y %H"),
}

#: What happens anyway: objects of JSON are matched by name.
ALWAYS = {"union_by_name"}

#: How a file is read, and not what is read: rows are the same, and what is no such value is refused.
SPEED: dict[str, Any] = {
    "buffer_size": 1 << 20,
    "files_to_sniff": 1,
    "maximum_object_size": 1 << 20,
    "maximum_sample_files": 1,
    "parallel": False,
}

REJECTS = {"rejects_limit", "rejects_scan", "rejects_table"}


def _outcome(con: inlay.Connection, function: str, path: Any, options: dict[str, Any]) -> Any:
    try:
        relation = getattr(con, function)(path, **options)
        return relation.columns, relation.types, relation.fetchall()
    except inlay.Error as error:
        return type(error)


def _file(tmp_path: Path, option: str, content: str) -> Any:
    if option in ("hive_partitioning", "hive_types", "hive_types_autocast"):
        folder = tmp_path / "year=2020"
        folder.mkdir()
        (folder / "a").write_text(content)
        return f"{tmp_path}/*/a"
    path = tmp_path / "a"
    path.write_bytes(content.encode("latin-1" if option == "encoding" else "utf-8"))
    if option == "union_by_name":
        other = tmp_path / "b"
        other.write_text(content.replace("a", "b"))
        return [str(path), str(other)]
    return path


@pytest.mark.parametrize(("function", "known"), [("read_csv", CSV), ("read_json", JSON)])
def test_every_option_is_here(function: str, known: dict[str, Any]) -> None:
    names = _of_duckdb(function) | _of_signature(getattr(inlay.Connection, function))
    assert names - set(known) - set(SPEED) - (ALWAYS if function == "read_json" else set()) == set()


@pytest.mark.parametrize(
    ("function", "option"), [*(("read_csv", option) for option in CSV), *(("read_json", option) for option in JSON)]
)
def test_options_of_readers_have_an_effect(con: inlay.Connection, tmp_path: Path, function: str, option: str) -> None:
    content, value = (CSV if function == "read_csv" else JSON)[option]
    if option in ("ignore_errors", "store_rejects", *REJECTS) and function == "read_csv":
        content = "a,b\n" + "1,2\n" * 3 + "1,2,3\n"
    path = _file(tmp_path, option, content)
    base: dict[str, Any] = {}
    if option in ("hive_types", "hive_types_autocast"):
        base = {"hive_partitioning": True}
    if option in ("ignore_errors", "store_rejects", *REJECTS) and function == "read_csv":
        base = {"columns": {"a": "INTEGER", "b": "INTEGER"}, "auto_detect": False, "header": True}
    if option in ("thousands", "decimal"):
        base = {"sep": ";", "columns": {"a": "DOUBLE", "b": "INTEGER"}}
    if option in ("date_format", "timestamp_format") and function == "read_json":
        base = {"columns": {"a": option.partition("_")[0].upper()}}
    if option in ("escapechar", "quotechar"):
        base = {"auto_detect": False, "header": True}
    if option == "ignore_errors" and function == "read_json":
        base = {"columns": {"a": "INTEGER"}}
    without = _outcome(con, function, path, base)
    assert _outcome(con, function, path, {**base, option: value}) != without


@pytest.mark.parametrize("function", ["read_csv", "read_json"])
def test_options_of_speed_are_looked_at(con: inlay.Connection, tmp_path: Path, function: str) -> None:
    path = tmp_path / "a"
    path.write_text("a\n1\n" if function == "read_csv" else '{"a": 1}\n')
    for option in set(SPEED) & _of_duckdb(function):
        assert _outcome(con, function, path, {option: SPEED[option]}) == _outcome(con, function, path, {})
        with pytest.raises(inlay.Error):
            getattr(con, function)(path, **{option: "surely not"})


def test_options_of_read_parquet(con: inlay.Connection, tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    folder = tmp_path / "year=2020"
    folder.mkdir()
    path = folder / "b.parquet"
    pq.write_table(pa.table({"s": [b"a"]}), path)
    pq.write_table(pa.table({"t": [b"a"]}), folder / "c.parquet")
    values = {"binary_as_string": True, "file_row_number": True, "filename": True, "hive_partitioning": False}
    names = _of_duckdb("read_parquet") | _of_signature(inlay.Connection.read_parquet)
    assert names <= set(values) | {"union_by_name", "compression"}
    without = _outcome(con, "read_parquet", path, {})
    for option, value in values.items():
        assert _outcome(con, "read_parquet", path, {option: value}) != without, option
    assert con.read_parquet(path, binary_as_string=True, hive_partitioning=False).types == ["VARCHAR"]
    both = f"{folder}/*.parquet"
    assert _outcome(con, "read_parquet", both, {"union_by_name": True}) != _outcome(con, "read_parquet", both, {})
    # The file says how it is compressed.
    with pytest.raises(inlay.Error):
        con.read_parquet(path, compression="surely not")


#: A value with which the files that are written are others than without, or an error.
WRITTEN: dict[str, Any] = {
    "sep": ";",
    "na_rep": "none",
    "header": False,
    "quotechar": "'",
    "escapechar": "!",
    "date_format": "%d.%m.%Y",
    "timestamp_format": "%d.%m.%Y %H",
    "quoting": 1,
    "encoding": "latin-1",
    "compression": "gzip",
    "overwrite": True,
    "per_thread_output": True,
    "partition_by": ["w"],
    "write_partition_columns": True,
    "force_quote": ["v"],
    "nothing": 1,
    "a b": 1,
    "quoting ": 7,
}


@pytest.mark.parametrize("option", sorted(WRITTEN))
def test_options_of_to_csv(con: inlay.Connection, tmp_path: Path, option: str) -> None:
    relation = con.sql(
        "SELECT 'a''b\"c,d;é' AS v, 1 AS w, NULL AS n, DATE '2020-01-02' AS d, TIMESTAMP '2020-01-02 03:04:05' AS t"
    )
    relation.to_csv(tmp_path / "plain")
    expected = (tmp_path / "plain").read_bytes()
    base = {"partition_by": ["w"]} if option in ("overwrite", "write_partition_columns", "per_thread_output") else {}
    if option in ("overwrite", "write_partition_columns"):
        relation.to_csv(tmp_path / "with", **base)
        before = _files(tmp_path / "with")
        options = {**base, option: WRITTEN[option]} | ({"overwrite": True} if option != "overwrite" else {})
        if option == "overwrite":
            with pytest.raises(inlay.Error):
                relation.to_csv(tmp_path / "with", **base)
            relation.to_csv(tmp_path / "with", **options)
        else:
            relation.to_csv(tmp_path / "with", **options)
            assert _files(tmp_path / "with") != before
        return
    try:
        relation.to_csv(tmp_path / "with", **base, **{option.strip(): WRITTEN[option]})
    except inlay.Error:
        return
    assert (tmp_path / "with").is_dir() or (tmp_path / "with").read_bytes() != expected


def _files(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("compression", "uncompressed"),
        ("row_group_size", 2048),
        ("row_group_size_bytes", 1000),
        ("field_ids", {"v": 7}),
        ("overwrite", "maybe"),
        ("per_thread_output", True),
        ("partition_by", ["w"]),
        ("append", True),
        ("filename_pattern", "x_{i}"),
        ("file_extension", "pq"),
        ("hive_file_pattern", False),
        ("file_size_bytes", 1000),
        ("row_groups_per_file", 1),
        ("nothing", 1),
    ],
)
def test_options_of_to_parquet(con: inlay.Connection, tmp_path: Path, option: str, value: Any) -> None:
    relation = con.sql("SELECT range AS v, range % 2 AS w FROM range(5000)")
    relation.to_parquet(tmp_path / "plain")
    expected = (tmp_path / "plain").read_bytes()
    try:
        relation.to_parquet(tmp_path / "with", **{option: value})
    except inlay.Error:
        return
    assert (tmp_path / "with").is_dir() or (tmp_path / "with").read_bytes() != expected


def test_what_is_so_anyway_is_taken(con: inlay.Connection, tmp_path: Path) -> None:
    """Rows have their order, and a file takes its name, from another one if need be, when it is complete."""
    relation = con.sql("FROM range(5000)")
    relation.to_parquet(tmp_path / "plain")
    for option, value in (("use_tmp_file", False), ("preserve_order", False), ("overwrite", True)):
        relation.to_parquet(tmp_path / "with", **{option: value})
        assert (tmp_path / "with").read_bytes() == (tmp_path / "plain").read_bytes()


def test_copy_says_which_files_it_wrote(con: inlay.Connection, tmp_path: Path) -> None:
    query = "(SELECT i, i % 2 AS k FROM range(50000) r(i))"
    one = con.execute(f"COPY {query} TO '{tmp_path}/a.csv' (RETURN_FILES)")
    assert [column[0] for column in one.description] == ["Count", "Files"]
    assert one.fetchall() == [(50_000, [f"{tmp_path}/a.csv"])]
    parts = con.execute(f"COPY {query} TO '{tmp_path}/p' (FORMAT parquet, PARTITION_BY (k), RETURN_FILES true)")
    assert parts.fetchall() == [(50_000, [f"{tmp_path}/p/k={k}/data_0.parquet" for k in (0, 1)])]
    sizes = con.execute(
        f"COPY {query} TO '{tmp_path}/s' (FORMAT csv, FILE_SIZE_BYTES '100KB', RETURN_FILES)"
    ).fetchone()
    assert sizes is not None and sizes[1] == [str(path) for path in sorted(tmp_path.glob("s/*.csv"))]
    none = con.execute(f"COPY (SELECT 1 AS a WHERE false) TO '{tmp_path}/n.csv' (WRITE_EMPTY_FILE false, RETURN_FILES)")
    assert none.fetchall() == [(0, [])]
    assert con.execute(f"COPY {query} TO '{tmp_path}/b.csv' (RETURN_FILES false)").fetchall() == [(50_000,)]


def test_numbers_of_lines_and_quotings_that_mean_nothing_are_refused(con: inlay.Connection, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("x\na\n1\n")
    for header in (1, 5, "maybe"):
        with pytest.raises(inlay.Error):
            con.read_csv(path, header=header)
    assert con.read_csv(path, header=0).columns == con.read_csv(path, header=True).columns == ["x"]
    for quoting in (2, 3, "none of these"):
        with pytest.raises(inlay.InvalidInputException, match="quoting"):
            con.sql("SELECT 1").to_csv(tmp_path / "b", quoting=quoting)


@pytest.mark.parametrize(
    ("setting", "expected"), [("arrow_large_buffer_size", "large_string"), ("produce_arrow_string_view", "string_view")]
)
def test_settings_of_arrow(con: inlay.Connection, setting: str, expected: str) -> None:
    pytest.importorskip("pyarrow")
    query = "SELECT 'x' AS s"
    assert str(con.execute(query).arrow().schema.field("s").type) == "string"
    con.execute(f"SET {setting} = true")
    relation = con.sql(query)
    tables = [
        con.execute(query).arrow(),
        con.execute(query).fetch_record_batch(),
        relation.arrow(),
        relation.fetch_record_batch(),
        relation.materialize().arrow(),
    ]
    assert [str(table.schema.field("s").type) for table in tables] == [expected] * len(tables)
    con.execute(f"RESET {setting}")
    assert str(con.sql(query).arrow().schema.field("s").type) == "string"
