"""Writes a program that calls each function of inlay.h with nothing, and with handles beside numbers out of range.

    python bindings/c/tests/nulls.py HEADER > program.c

Nothing of that may crash; each call that can fail says what is wrong.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

FUNCTION = re.compile(
    r"^(?P<returns>(?:const )?\w+(?: \w+)? \*?)(?P<name>inlay_\w+)\((?P<arguments>[^;]*?)\);$", re.M | re.S
)

# Handles that the second round gives, by their type.
HANDLES = {
    "inlay_database *": "database",
    "inlay_connection *": "connection",
    "inlay_statement *": "statement",
    "inlay_result *": "result",
    "inlay_chunk *": "chunk",
    "inlay_appender *": "appender",
    "inlay_script *": "script",
    "const inlay_type *": "type",
    "const inlay_error *": "other",
}
# What would end the handles, or the library's own calls make.
LEFT_OUT = {"inlay_adbc_init", "inlay_result_retain"}

PROGRAM = """\
#include "check.h"

/* Says which call it is, should it be the last. */
static const char *now = "";

static void done(inlay_status status, inlay_error **error, int must_fail) {
  if (must_fail && status == INLAY_OK) {
    fprintf(stderr, "%s gave no error\\n", now);
    exit(1);
  }
  if (status != INLAY_OK && (*error == NULL || inlay_error_text(*error)[0] == 0)) {
    fprintf(stderr, "%s gave no text\\n", now);
    exit(1);
  }
}

static void nothing(void) {
  inlay_error *error = NULL;
@NOTHING@
  inlay_error_free(&error);
}

static void wrong(void) {
  OPEN();
  inlay_statement *statement = NULL;
  inlay_result *result = NULL, *columns = NULL;
  inlay_chunk *chunk = NULL;
  inlay_appender *appender = NULL;
  inlay_script *script = NULL;
  inlay_type *type = NULL;
  inlay_error *other = NULL;
  OK(inlay_execute(connection, "CREATE TABLE t (a INTEGER)", NULL, &error));
  OK(inlay_prepare(connection, "SELECT ?", &statement, &error));
  OK(inlay_query(connection, "SELECT 1 AS a", &columns, &error));
  OK(inlay_result_column_chunk(columns, 0, &chunk, &error));
  OK(inlay_query(connection, "SELECT 1 AS a", &result, &error));
  OK(inlay_appender_new(connection, NULL, "t", &appender, &error));
  OK(inlay_script_new(connection, "SELECT 1", &script, &error));
  OK(inlay_type_parse("INTEGER", &type, &error));
  CHECK(inlay_execute(connection, "SELEC", NULL, &other) != INLAY_OK);
@WRONG@
  inlay_error_free(&other);
  inlay_type_free(&type);
  inlay_script_free(&script);
  inlay_appender_free(&appender);
  inlay_chunk_free(&chunk);
  inlay_result_release(&columns);
  inlay_result_release(&result);
  inlay_statement_free(&statement);
  CHECK(number(connection, "SELECT 1") == 1);
  CLOSE();
}

int main(void) {
  nothing();
  wrong();
  (void)now;
  puts("@COUNT@ functions");
  return 0;
}
"""


def functions(header: str) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """What each gives, its name, and types and names of its arguments."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    found = []
    for match in FUNCTION.finditer(text):
        arguments = []
        for argument in match["arguments"].split(","):
            argument = " ".join(argument.split())
            if argument != "void":
                ty, name = re.fullmatch(r"(.*?[ *])(\w+)", argument).groups()  # type: ignore[union-attr]
                arguments.append((ty.strip(), name))
        found.append((match["returns"].strip(), match["name"], arguments))
    return found


def argument(ty: str, is_wrong: bool) -> str:
    if ty == "inlay_error **":
        return "&error"
    if is_wrong and ty in HANDLES:
        return HANDLES[ty]
    if (
        ty.endswith("*")
        or ty in ("inlay_destroy",)
        or re.fullmatch(r"inlay_(\w+_function|table_\w+|replacement_scan)", ty)
    ):
        return "NULL"
    if ty == "size_t":
        return "(size_t)-1" if is_wrong else "0"
    if ty in ("inlay_date", "inlay_time", "inlay_timestamp", "inlay_interval", "inlay_decimal", "inlay_int128"):
        return f"({ty}){{0}}"
    return f"({ty})-1" if is_wrong and ty not in ("bool", "double", "float") else "0"


def call(function: tuple[str, str, list[tuple[str, str]]], is_wrong: bool) -> str:
    returns, name, arguments = function
    if name == "inlay_error_free":
        return "  inlay_error_free(NULL);"
    given = ", ".join(argument(ty, is_wrong) for ty, _ in arguments)
    said = f'  now = "{name}";\n'
    if returns == "inlay_status" and arguments and arguments[-1][0] == "inlay_error **":
        must_fail = 0 if is_wrong else 1
        return f"{said}  done({name}({given}), &error, {must_fail});"
    return f"{said}  (void){name}({given});" if returns != "void" else f"{said}  {name}({given});"


def program(header: str) -> str:
    found = [function for function in functions(header) if function[1] not in LEFT_OUT]
    made = PROGRAM.replace("@COUNT@", str(len(found)))
    made = made.replace("@NOTHING@", "\n".join(call(function, False) for function in found))
    return made.replace("@WRONG@", "\n".join(call(function, True) for function in found))


if __name__ == "__main__":
    print(program(Path(sys.argv[1]).read_text()))
