"""
The command `inlay udf`: stored functions as files of Python that any editor and debugger knows, and back.

Words are those of SQL's EXPORT DATABASE, seen from the database: `export` writes files. Tools that are seen from the
project, as devUDF, call that Import; `pull` and `push` are other names for `export` and `import`.

    DIR/functions/share.py    a function as it is stored; the line `# inlay:` says what was declared
    DIR/input/share.gz        what a query called it with
    DIR/run.py                calls a function with that
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import json
import keyword
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import inlay
from inlay import _capture, _sealed, _udf
from inlay._parts import quote
from inlay.exceptions import Error

_HEADER = "# inlay: "
_IMPORTS = "import numpy\nimport numpy as np\n"

#: The commands that copy functions, by the names that they have as well.
_ALIASES = {"pull": "export", "push": "import"}

_RUNNER = '''"""
Call a function with what a query called it with: `python run.py share`.

`inlay udf debug` writes the input, `inlay udf import` puts the function back into the database.
"""

import importlib.util
import sys
from pathlib import Path

from inlay import _capture

HERE = Path(__file__).parent


def loaded(stem):
    """Return the function of a file."""
    path = HERE / "functions" / f"{stem}.py"
    spec = importlib.util.spec_from_file_location(stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return next(each for each in vars(module).values() if getattr(each, "__code__", None) and each.__module__ == stem)


def main():
    """Call the function that is named, or the only one that has an input."""
    stems = sys.argv[1:] or sorted(path.name.removesuffix(".gz") for path in (HERE / "input").glob("*.gz"))
    for stem in stems:
        function, calls = loaded(stem), _capture.read(HERE / "input" / f"{stem}.gz")
        for arguments in calls:
            print(f"{stem}:", function(*arguments))


if __name__ == "__main__":
    main()
'''


@dataclass
class Stored:
    """A function of the database."""

    schema: str
    name: str
    parameters: list[str]
    is_variadic: bool
    style: str
    declaration: str
    body: str
    stem: str

    @property
    def called(self) -> str:
        """Its name in Python."""
        return self.name if self.name.isidentifier() and not keyword.iskeyword(self.name) else "function"

    def file(self) -> str:
        """Make the text of its file."""
        about = {"schema": self.schema, "name": self.name, "declaration": self.declaration}
        arguments = ", ".join([*self.parameters, *(["*args"] if self.is_variadic else [])])
        body = "\n".join(
            "    " + line if is_code and line else line for line, is_code in _unindented(self.name, self.body)
        )
        return f"{_HEADER}{json.dumps(about)}\n\n{_IMPORTS}\n\ndef {self.called}({arguments}):\n{body}\n"


def stored(con: inlay.Connection, names: Iterable[str]) -> list[Stored]:
    """Return the functions of a database with these names, or all."""
    wanted, found, stems = {name.lower() for name in names}, [], set()
    for (schema, name), parameters, is_variadic, style, declaration, body in con._stored_functions():
        full = name if schema == "main" else f"{schema}.{name}"
        if wanted and not {name.lower(), full.lower()} & wanted:
            continue
        plain = "".join(each if each.isalnum() or each in "._-" else "_" for each in full)
        stem, number = plain, 1
        while stem.lower() in stems:
            number += 1
            stem = f"{plain}-{number}"
        stems.add(stem.lower())
        found.append(Stored(schema, name, parameters, is_variadic, style, declaration, body, stem))
    missing = wanted - {each.name.lower() for each in found} - {f"{each.schema}.{each.name}".lower() for each in found}
    if missing:
        raise ValueError(f'there is no stored function "{min(missing)}" in the database')
    return found


def _inside(tree: ast.AST) -> set[int]:
    """Return the lines that begin inside of a text, which indenting would change."""
    return {
        line
        for node in ast.walk(tree)
        if isinstance(node, (ast.Constant, ast.JoinedStr)) and node.end_lineno is not None
        for line in range(node.lineno + 1, node.end_lineno + 1)
    }


def _without_margin(lines: list[str], inside: set[int]) -> list[tuple[str, bool]]:
    """Take away what all lines of code are indented by; with each line, whether it is one of code."""
    code = [line for number, line in enumerate(lines, 1) if number not in inside and line.strip()]
    margins = [len(line) - len(line.lstrip()) for line in code if not line.lstrip().startswith("#")]
    margin = min(margins, default=0)

    def cut(line: str) -> str:
        return line[margin:] if not line[:margin].strip() else line.lstrip()

    return [(line, False) if number in inside else (cut(line).rstrip(), True) for number, line in enumerate(lines, 1)]


def _unindented(name: str, body: str) -> list[tuple[str, bool]]:
    lines, wrapped = _udf.lines_of(name, body)
    tree = ast.parse("\n".join(["if 1:", *lines] if wrapped else lines))
    inside = {line - 1 for line in _inside(tree)} if wrapped else _inside(tree)
    found = _without_margin(lines, inside)
    while found and found[0][1] and not found[0][0]:
        del found[0]
    while found and found[-1][1] and not found[-1][0]:
        del found[-1]
    return found


def export(con: inlay.Connection, folder: Path, names: Sequence[str], keeps: bool = False) -> list[Stored]:
    """Write functions as files; those that are there stay if `keeps`."""
    (folder / "functions").mkdir(parents=True, exist_ok=True)
    (folder / "run.py").write_text(_RUNNER)
    found = stored(con, names)
    for function in found:
        path = folder / "functions" / f"{function.stem}.py"
        if not (keeps and path.exists()):
            path.write_text(function.file())
    return found


def read(path: Path) -> tuple[dict[str, str], str, list[str]]:
    """Read a file of a function: what was declared, the body, the parameters."""
    text = path.read_text()
    first = next((line for line in text.splitlines() if line.startswith(_HEADER)), None)
    if first is None:
        raise ValueError(f"{path}: the line that begins with '{_HEADER.strip()}' is gone; it says what was declared")
    about = json.loads(first.removeprefix(_HEADER))
    try:
        tree = ast.parse(text, str(path))
    except SyntaxError as error:
        raise ValueError(f"{path}, line {error.lineno}: {error.msg}") from error
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    others = [node for node in tree.body if node not in functions and ast.unparse(node) not in _IMPORTS.splitlines()]
    others = [node for node in others if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))]
    if others or len(functions) != 1:
        line = others[0].lineno if others else functions[-1].lineno if functions else 1
        message = f"{path}, line {line}: only the body of one function is stored; what it needs has to be inside of it"
        raise ValueError(message)
    function = functions[0]
    lines, start = text.splitlines(), _header_end(function)
    body = function.body[0]
    if body.lineno <= start:
        # It stands behind the colon.
        return about, " " + lines[start - 1][body.col_offset :], _parameters(function)
    while start < body.lineno - 1 and lines[start].strip().startswith(")"):
        start += 1
    own = lines[start : function.end_lineno]
    inside = {line - start for line in _inside(function) if line > start}
    return about, "\n".join(line for line, _ in _without_margin(own, inside)), _parameters(function)


def _header_end(function: ast.FunctionDef) -> int:
    ends = [arg.end_lineno or 0 for arg in ast.walk(function.args) if isinstance(arg, ast.arg)]
    return max([function.lineno, *ends, function.returns.end_lineno or 0 if function.returns else 0])


def _parameters(function: ast.FunctionDef) -> list[str]:
    rest = function.args.vararg
    return [arg.arg for arg in [*function.args.posonlyargs, *function.args.args]] + ([f"*{rest.arg}"] if rest else [])


def _dollars(text: str) -> str:
    tag = next(tag for tag in ("", *(f"body{number}" for number in range(1000))) if f"${tag}$" not in text)
    return f"${tag}$\n{text}\n${tag}$"


def import_(con: inlay.Connection, folder: Path, names: Sequence[str]) -> list[str]:
    """Put functions whose files were changed back into the database, all or none; their names."""
    known = {(each.schema, each.name, each.declaration): each for each in stored(con, ())}
    changed = []
    con.execute("BEGIN")
    try:
        for path in sorted((folder / "functions").glob("*.py")):
            about, body, parameters = read(path)
            if names and not {about["name"], path.stem} & set(names):
                continue
            before = known.get((about["schema"], about["name"], about["declaration"]))
            if before is not None:
                if parameters != before.parameters + (["*args"] if before.is_variadic else []):
                    raise ValueError(
                        f"{path}: the parameters are those that were declared, not {', '.join(parameters)}"
                    )
                if "\n".join(line for line, _ in _unindented(before.name, before.body)) == body.strip("\n"):
                    continue
            place = f"{quote(about['schema'])}.{quote(about['name'])}"
            con.execute(f"CREATE OR REPLACE FUNCTION {place}{about['declaration']} AS {_dollars(body)}")
            changed.append(path.stem)
        con.execute("COMMIT")
    except BaseException:
        con.execute("ROLLBACK")
        raise
    return changed


def debug(
    con: inlay.Connection, folder: Path, sql: str, rows: int | None, password: str | None = None
) -> tuple[list[str], str | None]:
    """Run a query, and write what it calls stored functions with; the files, and what the query failed with."""
    functions = export(con, folder, (), keeps=True)
    captured, failure = _capture.captured(con, functions, sql, rows)
    (folder / "input").mkdir(exist_ok=True)
    for stem, calls in captured.items():
        _capture.write(folder / "input" / f"{stem}.gz", calls, password)
    return list(captured), failure


def _run(folder: Path, stem: str, port: int, waits: bool) -> int:
    command = [sys.executable]
    if importlib.util.find_spec("debugpy") is not None:
        listening = f"127.0.0.1:{port}"
        command += ["-Xfrozen_modules=off", "-m", "debugpy", "--listen", listening]
        if waits:
            command.append("--wait-for-client")
            print(f"run.py waits for a debugger at {listening}: attach to it, for instance with .vscode/launch.json")
        launch = {
            "version": "0.2.0",
            "configurations": [
                {
                    "name": "inlay udf debug",
                    "type": "debugpy",
                    "request": "attach",
                    "connect": {"host": "127.0.0.1", "port": port},
                    "justMyCode": False,
                }
            ],
        }
        (folder / ".vscode").mkdir(exist_ok=True)
        (folder / ".vscode" / "launch.json").write_text(json.dumps(launch, indent=4) + "\n")
    else:
        print("debugpy is not installed (pip install debugpy): run.py runs without a debugger")
    sys.stdout.flush()
    return subprocess.run([*command, str(folder / "run.py"), stem], check=False).returncode


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="inlay udf", description="Stored functions as files of Python, and back.")
    commands = parser.add_subparsers(dest="command", required=True)
    texts = {
        "export": "write functions of the database as files of Python",
        "import": "put files that were changed back into the database",
        "debug": "run a query and debug a function with the rows that it was called with",
    }
    for command, text in texts.items():
        aliases = [alias for alias, meant in _ALIASES.items() if meant == command]
        own = commands.add_parser(command, help=text, description=text, aliases=aliases)
        if command == "debug":
            own.add_argument("query", help="calls functions; nothing that it changes is kept")
            own.add_argument("--sample", type=int, metavar="N", help="keep N rows, drawn evenly; all unless it is said")
            own.add_argument("--encrypt", action="store_true", help="write the input under a password")
            own.add_argument("--function", metavar="NAME", help="the one to debug, of several")
            own.add_argument("--port", type=int, default=5678, help="where the debugger listens (5678)")
            own.add_argument("--no-wait", action="store_true", help="run before a debugger is attached")
            own.add_argument("--no-run", action="store_true", help="write the input and run nothing")
        else:
            own.add_argument("names", nargs="*", metavar="NAME", help="functions; all unless some are named")
        own.add_argument("--database", required=True, metavar="FILE", help="the database")
        own.add_argument("--project", required=True, type=Path, metavar="DIR", help="the folder of the files")
    return parser


def main(arguments: Sequence[str]) -> int:
    """Carry out a command; exit code."""
    options = _arguments().parse_args(arguments)
    if not Path(options.database).exists():
        print(f"inlay udf: there is no database {options.database}", file=sys.stderr)
        return 1
    command = _ALIASES.get(options.command, options.command)
    writes = command == "import"
    try:
        password = None
        if command == "debug" and options.encrypt:
            _sealed.check()
            password = _capture.password_for("the input", is_new=True)
        with inlay.connect(options.database, read_only=not writes, config={"allow_python": True}) as con:
            match command:
                case "export":
                    for function in export(con, options.project, options.names):
                        print(options.project / "functions" / f"{function.stem}.py")
                    return 0
                case "import":
                    changed = import_(con, options.project, options.names)
                    print("\n".join(f"changed: {name}" for name in changed) or "nothing was changed")
                    return 0
            stems, failure = debug(con, options.project, options.query, options.sample, password)
    except (Error, ValueError, OSError) as error:
        print(f"inlay udf: {error}", file=sys.stderr)
        return 1
    if failure:
        print(f"the query failed: {failure}")
    if options.function:
        stems = [stem for stem in stems if stem == options.function]
    if not stems:
        print("inlay udf: the query called no stored function" + (f" {options.function}" if options.function else ""))
        return 1
    print("\n".join(str(options.project / "input" / f"{stem}.gz") for stem in stems))
    return 0 if options.no_run else _run(options.project, stems[-1], options.port, not options.no_wait)
