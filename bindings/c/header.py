"""Writes include/inlay.h and docs/reference/c.md of the Rust sources: types, constants, functions and their comments.

    python bindings/c/header.py           writes both
    python bindings/c/header.py --check   says whether they are current

The sources are read as they are formatted by rustfmt; what this does not understand is an error.
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "src"
HEADER = HERE / "include" / "inlay.h"
PAGE = HERE.parent.parent / "docs" / "reference" / "c.md"
KINDS = HERE.parent.parent / "crates" / "inlay-types" / "src" / "error" / "kind.rs"

# In the order of the header, with the heading of each.
FILES = [
    ("failure", "Errors"),
    ("kinds", "Types and arrays"),
    ("types", "Types with their parts"),
    ("calendar", "Days and moments"),
    ("database", "Databases"),
    ("connection", "Connections"),
    ("query", "Statements"),
    ("statement", "Prepared statements"),
    ("bind", "Values of parameters"),
    ("pending", "Statements that run by themselves"),
    ("result", "Results"),
    ("column", "Columns as they lie in memory"),
    ("buffer", "Columns of the program's own"),
    ("plain", "Columns as plain arrays"),
    ("value", "Single values"),
    ("chunk", "Chunks"),
    ("appender", "Rows into tables"),
    ("arrow", "Arrow"),
    ("scan", "Tables of the program's"),
    ("functions/mod", "Functions of the program's"),
    ("functions/output", "What functions write to"),
    ("functions/scalar", "Scalar functions"),
    ("functions/aggregate", "Aggregate functions"),
    ("functions/table", "Table functions"),
    ("functions/language", "Languages of the program's"),
    ("../../adbc/src/entry", "ADBC"),
]

BEFORE = """\
/* inlay.h: Inlay, an analytical SQL database inside the program that uses it. Version {version}.
 *
 * Made by bindings/c/header.py of the library's sources; docs/c.md is the guide.
 *
 * Status and errors. A function that can fail gives an inlay_status: INLAY_OK, or the kind of the error. Its
 * last argument says where the error itself is put: NULL, or the address of a pointer that is NULL or holds
 * an earlier error, which is freed. So one pointer, set to NULL at first, serves any number of calls; after
 * each it holds that call's error, or NULL. Other functions give a plain value; for a handle that is NULL it
 * is zero, NULL or false. No function aborts, exits, or lets an exception out.
 *
 * Ownership. A handle that a function makes belongs to the program, which frees it once by the function that
 * its comment names. To free takes the address of the pointer, and leaves NULL there: freeing NULL, or
 * twice, does nothing. Handles keep alive what they need themselves, so they may be freed in any order.
 * Where a function fails, a handle that it was to make is NULL. What "belongs to" a handle is there until
 * that is freed, and is only read. Arguments are copied, unless a comment says otherwise; none is kept.
 *
 * Threads. A handle may be used by any number of threads at once; statements of one connection run one after
 * the other. To free a handle must be the last use of it. In a child of fork(), handles of the parent fail
 * with INLAY_ERROR_CLOSED, and to free them does nothing; databases that the child opens itself work.
 *
 * Texts are UTF-8. Columns and rows count from 0, parameters from 1. Pointers that may be NULL are named.
 */
#ifndef INLAY_H
#define INLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INLAY_VERSION "{version}"

#ifdef __cplusplus
extern "C" {{
#endif

/* The structs of Arrow's C interfaces, unless another header has them. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {{
  const char *format;
  const char *name;
  const char *metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema **children;
  struct ArrowSchema *dictionary;
  void (*release)(struct ArrowSchema *);
  void *private_data;
}};

struct ArrowArray {{
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void **buffers;
  struct ArrowArray **children;
  struct ArrowArray *dictionary;
  void (*release)(struct ArrowArray *);
  void *private_data;
}};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {{
  int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
  int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
  const char *(*get_last_error)(struct ArrowArrayStream *);
  void (*release)(struct ArrowArrayStream *);
  void *private_data;
}};

#endif
"""

AFTER = """
#ifdef __cplusplus
}
#endif

#endif
"""

NUMBERS = {
    "bool": "bool",
    "i8": "int8_t",
    "i16": "int16_t",
    "i32": "int32_t",
    "i64": "int64_t",
    "u8": "uint8_t",
    "u16": "uint16_t",
    "u32": "uint32_t",
    "u64": "uint64_t",
    "f32": "float",
    "f64": "double",
    "usize": "size_t",
    "c_char": "char",
    "c_int": "int",
    "c_void": "void",
    "ArrowArrayStream": "struct ArrowArrayStream",
    "AdbcStatusCode": "uint8_t",
    "AdbcError": "struct AdbcError",
}


def pointer(to: str, const: bool = False) -> str:
    """A pointer to a type."""
    if const:
        to = f"{to}const" if to.endswith("*") else f"const {to}"
    return f"{to}*" if to.endswith("*") else f"{to} *"


def c_type(rust: str) -> str:
    """The type in C that a type of Rust is, with a place for the name at its end."""
    rust = rust.strip()
    if rust in NUMBERS:
        return NUMBERS[rust]
    if re.fullmatch(r"inlay_\w+", rust):
        return rust
    if rust == "Text<'_>":
        return "const char *"
    if rust == "StreamIn":
        return "struct ArrowArrayStream *"
    if rust == "TextOut":
        return "char *"
    if rust == "ErrorOut<'_>":
        return "inlay_error **"
    if rust == "Destroy":
        return "inlay_destroy"
    if found := re.fullmatch(r"\*const (.+)", rust):
        return pointer(c_type(found[1]), const=True)
    if found := re.fullmatch(r"\*mut (.+)", rust):
        return pointer(c_type(found[1]))
    if found := re.fullmatch(r"Option<&mut (.+)>", rust):
        return pointer(c_type(found[1]))
    if found := re.fullmatch(r"(\w+)<('_, )?(.+)>", rust):
        inner = c_type(found[3])
        match found[1]:
            case "Handle" if inner in CONSTANT:
                return pointer(inner, const=True)
            case "Handle" | "Own" | "Out" | "Made" | "Shared":
                return pointer(inner)
            case "Freed":
                return pointer(pointer(inner))
            case "Items":
                return pointer(inner, const=True)
    raise ValueError(f"no type of C for {rust}")


# Handles that functions only look at.
CONSTANT = {"inlay_error", "inlay_type", "inlay_config"}


def declared(rust: str, name: str) -> str:
    """A variable, or argument, or member."""
    if found := re.fullmatch(r"Option<(?:unsafe )?extern \"C\" fn\((.*?),?\s*\)(?: -> (.+))?>", rust, re.S):
        arguments = ", ".join(arguments_of(found[1])) or "void"
        returns = c_type(found[2]) if found[2] else "void"
        return spaced(returns, f"(*{name})({arguments})")
    return spaced(c_type(rust), name)


def spaced(c: str, name: str) -> str:
    return f"{c}{name}" if c.endswith("*") else f"{c} {name}"


def split(text: str) -> list[str]:
    """The parts of a list, at the commas that are in no brackets."""
    parts, depth, part = [], 0, ""
    for at, letter in enumerate(text):
        is_arrow = letter == ">" and text[at - 1 : at] == "-"
        depth += (letter in "<([") - (letter in ">)]" and not is_arrow)
        if letter == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += letter
    return [part.strip() for part in [*parts, part] if part.strip()]


def arguments_of(text: str) -> list[str]:
    made = []
    for argument in split(text):
        name, _, rust = argument.partition(":")
        made.append(declared(" ".join(rust.split()), name.strip()))
    return made


def comment(doc: str, margin: str = "") -> str:
    """A comment of what `///` says, up to 110 columns wide."""
    lines: list[str] = []
    for line in doc.splitlines():
        text = re.sub(r"^\s*/// ?", "", line)
        if text.startswith("# Safety"):
            break
        text = re.sub(r"\[`(\w+)`\](?:\([^)]*\))?", r"\1", text).replace("`", "")
        lines.append(text)
    words = " ".join(lines).split()
    out, line = [], f"{margin}/*"
    for word in words:
        if len(line) + len(word) + 4 > 110:
            out.append(line)
            line = f"{margin} *"
        line += f" {word}"
    return "\n".join([*out, f"{line} */"])


ITEM = re.compile(
    r"(?P<doc>(?:^///[^\n]*\n)+)(?P<attributes>(?:^#\[[^\n]*\]\n)*)"
    r"^pub (?:"
    r"type (?P<alias>inlay_\w+) =\s+(?P<target>[^;]+);"
    r"|const (?P<constant>INLAY_\w+): (?P<of>inlay_\w+) = (?P<value>\d+);"
    r"|struct (?P<struct>inlay_\w+) \{\n(?P<members>.*?)^\}"
    r"|(?:unsafe )?extern \"C\" fn (?P<function>\w+)\((?P<arguments>.*?)\)(?: -> (?P<returns>[^{]+?))? \{"
    r")",
    re.M | re.S,
)
MEMBER = re.compile(r"(?P<doc>(?:^    ///[^\n]*\n)+)^    pub (?P<name>\w+): (?P<type>.+?),\n", re.M | re.S)


def statuses() -> list[tuple[str, int, str]]:
    """Kinds of errors: names, numbers and comments."""
    found = re.findall(r"    /// (.+)\n    (\w+) = (\d+), \"(\w{5})\";", KINDS.read_text())
    name = lambda camel: re.sub(r"(?<=[a-z])(?=[A-Z])", "_", camel).upper()  # noqa: E731
    return [(f"INLAY_ERROR_{name(kind)}", int(code), f"{doc} SQLSTATE {state}.") for doc, kind, code, state in found]


MACRO = re.compile(r"^macro_rules! (\w+) \{\n    \(\$\((.*)\)\*\) => \{\$\(\n(.*?)^    \)\*\};\n\}\n", re.M | re.S)
# Documentation that the compiler puts together.
CONCATENATED = re.compile(r"#\[doc = concat!\((.*)\)\]")
# What a piece of a macro's pattern takes, by its kind.
PIECES = {"ident": r"\w+", "literal": r'"[^"]*"', "ty": r"[^;]+?", "expr": r"[^;]+?"}


def pattern_of(macro: str) -> str:
    """A macro's pattern as a regular expression, in which only documentation and arguments are repeated."""
    made = re.escape(" ".join(macro.split()))
    made = made.replace(re.escape("$(#[$doc:meta])* "), r"(?P<docs>(?:///[^\n]*\n\s*)+)")
    made = made.replace(re.escape("$($argument:ident: $type:ty),*"), r"(?P<arguments>[^()]*)")
    made = re.sub(r"\\\$(\w+):(\w+)", lambda found: f"(?P<{found[1]}>{PIECES[found[2]]})", made)
    return made.replace("\\ ", r"\s+")


def written_out(text: str) -> str:
    """The text with items of a macro as the compiler sees them."""
    for macro in MACRO.finditer(text):
        name, pattern, body = macro.groups()
        call = re.search(rf"^{name}! \{{\n(.*?)^\}}\n", text, re.M | re.S)
        if call is None:
            raise ValueError(f"{name} is not called")
        made = []
        for entry in re.finditer(pattern_of(pattern), call[1]):
            one, known = body, entry.groupdict()
            docs = [line.strip() for line in known.pop("docs", "").splitlines()]
            one = one.replace("$(#[$doc])*", f"\n{8 * ' '}".join(filter(None, docs)))
            arguments = " ".join(f"{argument}," for argument in split(known.pop("arguments", "")))
            one = one.replace("$($argument: $type,)*", arguments)
            for piece, value in known.items():
                one = re.sub(rf"\${piece}\b", " ".join(value.split()).replace("\\", r"\\"), one)
            made.append(CONCATENATED.sub(lambda doc: "/// " + "".join(re.findall(r'"([^"]*)"', doc[1])), one))
        left = re.sub(pattern_of(pattern), "", call[1]).strip()
        if left:
            raise ValueError(f"{name}: not understood: {left}")
        text = text.replace(call[0], textwrap.dedent("".join(made)))
    return MACRO.sub("", text)


def items() -> list[tuple[str, list[re.Match[str]]]]:
    """What each file has for the header."""
    found = []
    for file, heading in FILES:
        text = written_out((SOURCES / f"{file}.rs").read_text())
        matches = list(ITEM.finditer(text))
        exported = re.findall(r"^pub (?:unsafe )?extern \"C\" fn (\w+)", text, re.M)
        read = [match["function"] for match in matches if match["function"]]
        if exported != read:
            raise ValueError(f"{file}.rs: not understood: {sorted(set(exported) - set(read))}")
        found.append((heading, matches))
    return found


def enumerations(all_items: list[tuple[str, list[re.Match[str]]]]) -> dict[str, list[tuple[str, int, str]]]:
    """Constants by their type."""
    found: dict[str, list[tuple[str, int, str]]] = {}
    for _, matches in all_items:
        for match in matches:
            if match["constant"]:
                doc = re.sub(r"^/// ?", "", match["doc"], flags=re.M)
                found.setdefault(match["of"], []).append((match["constant"], int(match["value"]), doc))
    found["inlay_status"] += statuses()
    return found


def enumeration(name: str, values: list[tuple[str, int, str]]) -> str:
    lines = [f"typedef enum {name} {{"]
    for constant, value, doc in values:
        lines += [comment(doc, "  "), f"  {constant} = {value},"]
    lines[-1] = lines[-1].rstrip(",")
    return "\n".join([*lines, f"}} {name};"])


def is_handle(match: re.Match[str]) -> bool:
    """Whether it is a struct of which C has pointers only."""
    return bool(match["struct"]) and "repr(C)" not in match["attributes"]


def structure(match: re.Match[str]) -> str:
    name = match["struct"]
    lines = [comment(match["doc"]), f"typedef struct {name} {{"]
    for member in MEMBER.finditer(match["members"]):
        lines.append(comment(member["doc"], "  "))
        lines.append(f"  {declared(member['type'], member['name'])};")
    return "\n".join([*lines, f"}} {name};"])


def alias(match: re.Match[str], values: dict[str, list[tuple[str, int, str]]]) -> str:
    name, doc = match["alias"], comment(match["doc"])
    if name in values:
        return f"{doc}\n{enumeration(name, values[name])}"
    target = " ".join(match["target"].split()).replace("Option< ", "Option<").replace(", >", ">")
    target = re.sub(r"fn\( ", "fn(", re.sub(r",? \)", ")", target))
    return f"{doc}\ntypedef {declared(target.replace(', )', ')'), name)};"


def function(match: re.Match[str]) -> str:
    line = f"{signature(match)};"
    if len(line) > 110:
        inner = ",\n    ".join(arguments_of(match["arguments"]))
        line = f"{line[: line.index('(')]}(\n    {inner});"
    return f"{comment(match['doc'])}\n{line}"


def text() -> str:
    found = items()
    values = enumerations(found)
    version = re.search(r'\[workspace\.package\]\nversion = "([^"]+)"', (HERE.parent.parent / "Cargo.toml").read_text())
    if version is None:
        raise ValueError("no version in Cargo.toml")
    parts = [BEFORE.format(version=version[1])]
    # Handles are named before the functions that take them.
    parts.append(f"/* ---- Handles {'-' * 93} */")
    handles = [match for _, matches in found for match in matches if is_handle(match)]
    parts += [f"{comment(match['doc'])}\ntypedef struct {match['struct']} {match['struct']};" for match in handles]
    parts.append(
        "/* Frees what a program gave with a function, when that is not called any more. */\n"
        "typedef void (*inlay_destroy)(void *user_data);"
    )
    for heading, matches in found:
        parts.append(f"/* ---- {heading} {'-' * (100 - len(heading))} */")
        if heading == "ADBC":
            parts.append("struct AdbcError;")
        for match in matches:
            if match["function"]:
                parts.append(function(match))
            elif match["struct"] and not is_handle(match):
                parts.append(structure(match))
            elif match["alias"]:
                parts.append(alias(match, values))
    return "\n\n".join(parts) + "\n" + AFTER


def words(doc: str) -> str:
    """A comment as one line of the page."""
    line = " ".join(comment(doc).replace("/*", " ").replace("*/", " ").replace("\n *", " ").split())
    return line.replace("|", "\\|").replace("<", "&lt;")


def page() -> str:
    """The page of the reference."""
    parts = [
        "# The C library",
        "Made by `python bindings/c/header.py` of the library's sources, as `inlay.h` is. [The guide](../c.md) says "
        "what holds for all: errors, ownership, threads. A status is `INLAY_OK` or the kind of an error.",
    ]
    found = items()
    values = enumerations(found)
    for heading, matches in found:
        parts.append(f"## {heading}")
        rows = []
        for match in matches:
            if match["function"]:
                rows.append(f"| `{signature(match)}` | {words(match['doc'])} |")
            elif match["struct"]:
                kind = "handle" if is_handle(match) else "struct"
                rows.append(f"| `{match['struct']}`, a {kind} | {words(match['doc'])} |")
            elif match["alias"] and match["alias"] not in values:
                rows.append(f"| `{match['alias']}`, a function | {words(match['doc'])} |")
            elif match["alias"]:
                rows.append(f"| `{match['alias']}`, a number | {words(match['doc'])} |")
        parts.append("\n".join(["| | |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def signature(match: re.Match[str]) -> str:
    returns = c_type(match["returns"]) if match["returns"] else "void"
    return f"{spaced(returns, match['function'])}({', '.join(arguments_of(match['arguments'])) or 'void'})"


def main() -> int:
    made = {HEADER: text(), PAGE: page()}
    if "--check" in sys.argv[1:]:
        stale = [path for path, wanted in made.items() if not path.exists() or path.read_text() != wanted]
        for path in stale:
            print(f"{path.name} is not current: python bindings/c/header.py writes it")
        return 1 if stale else 0
    for path, wanted in made.items():
        path.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
