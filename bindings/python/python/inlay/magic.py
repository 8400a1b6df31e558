"""
`%sql` and `%%sql` for IPython; `%load_ext inlay` brings them.

What they take is in the docstring of `Magic.run`, which `%sql?` shows.
"""

from __future__ import annotations

import re
from os import fspath
from pathlib import Path
from typing import Any

from inlay._expression import with_values
from inlay._inlay import Connection, connect
from inlay._relation import relation
from inlay.exceptions import Error, InvalidInputException

#: Options that have a value, and what it is.
_OPTIONS = {"connect": "a connection's variable, or a file", "db": "a file"}

_OPTION = re.compile(r"""\s*--(\w[\w-]*)(?:(?:\s+|=)("[^"]*"|'[^']*'|[^\s-]\S*))?(?=\s|$)""")


class Magic:
    """What the magics of one notebook share: its connection."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self._connection: Connection | None = None
        self._opened: dict[str, Connection] = {}

    @property
    def connection(self) -> Connection:
        """The connection: the package's default one, unless another was chosen."""
        import inlay

        return self._connection or inlay.default_connection()

    def run(self, line: str, cell: str | None = None, local_ns: dict[str, Any] | None = None) -> Any:
        """
        Run SQL: a line, ``%sql SELECT 1``, or a cell below ``%%sql``.

        The value is a relation, shown as a table, or None of statements without rows. Of several statements all run,
        and the last one's rows are the value. A mistake shows as one message, without a traceback.

        Data frames and other variables of the notebook, and of the function in which it stands, are tables by their
        names, and ``$name`` is the value of the variable ``name``.

        ::

            %sql SELECT 40 + 2 AS answer
            rows = %sql SELECT * FROM frame WHERE km > $limit

            %%sql old <<
            SELECT * FROM people WHERE age > 40

        The last one puts the relation into the variable ``old`` and shows nothing.

        Options stand in front, in a line and behind ``%%sql``; they hold for this statement and the ones that follow.

        --connect NAME    use the connection in the variable NAME; if there is none, the database file NAME
        --db FILE         use the database FILE, which is made if it does not exist; ``:memory:`` is an empty one
        --connect         use the default connection again, which ``inlay.sql`` uses, too; ``set_default_connection``
                          chooses it
        --help            show this

        ::

            con = inlay.connect("trips.inlay", config={"threads": 2})
            %sql --connect con
            %sql --db trips.inlay SELECT count(*) FROM trips
        """
        try:
            return self._run(line, cell, local_ns or {})
        except Error as error:
            # IPython asks for what it is to show; the lines of the package help nobody here.
            shown = f"{type(error).__name__}: {error}"
            error._render_traceback_ = lambda: [shown]  # type: ignore[attr-defined]
            raise error from None

    # Braces and dollars are SQL's here, and not to be replaced before.
    run._ipython_magic_no_var_expand = True  # type: ignore[attr-defined]
    run.needs_local_scope = True  # type: ignore[attr-defined]

    def _run(self, line: str, cell: str | None, local: dict[str, Any]) -> Any:
        options, line = _options(line)
        if "help" in options:
            import inspect

            print(inspect.getdoc(self.run))
            return None
        self._choose(options)
        target = re.match(r"\s*(\w+)\s*<<", line)
        text = line[target.end() :] if target else line
        text = f"{text}\n{cell}" if cell else text
        if not text.strip():
            if options and not target:
                return None
            raise InvalidInputException("%sql needs a statement; %sql? shows what it takes")
        # The variables are looked for where a query is run from: in the notebook.
        scope = {**self.shell.user_ns, **local, "__name__": "__main__"}
        named = {name: scope[name] for name in re.findall(r"\$([A-Za-z_]\w*)", text) if name in scope}
        scope["__inlay_work__"] = lambda: relation(self.connection, with_values(text, named) if named else text)
        result = eval("__inlay_work__()", scope)
        if target:
            self.shell.user_ns[target[1]] = result
            return None
        return result

    def _choose(self, options: dict[str, str | None]) -> None:
        """Use the connection that options name."""
        if "db" in options:
            self._connection = self._open(options["db"] or "")
        elif "connect" in options:
            name = options["connect"]
            given = self.shell.user_ns.get(name) if name else None
            if isinstance(given, Connection):
                self._connection = given
            elif name is None:
                self._connection = None
            elif given is not None and not hasattr(given, "__fspath__") and not isinstance(given, str):
                raise InvalidInputException(f"the variable {name} is no connection but of type {type(given).__name__}")
            else:
                path = name if given is None else fspath(given)
                if path.isidentifier() and not Path(path).exists():
                    raise InvalidInputException(
                        f"there is no connection in a variable {path}, and no file {path}; --db {path} makes the file"
                    )
                self._connection = self._open(path)

    def _open(self, path: str) -> Connection:
        """Open a database once, so that what belongs to its session stays."""
        known = self._opened.get(path)
        if known is None or "closed" in repr(known):
            known = self._opened[path] = connect(path)
        return known


def _options(line: str) -> tuple[dict[str, str | None], str]:
    """Take the options from the front of a line. ``-- text`` is a comment of SQL."""
    options: dict[str, str | None] = {}
    while found := _OPTION.match(line):
        name, value = found[1], found[2]
        if name == "help":
            return {"help": None}, ""
        if name not in _OPTIONS:
            takes = ", ".join(f"--{known}" for known in _OPTIONS)
            raise InvalidInputException(f"%sql has no option --{name}; it has {takes}, --help; a comment is -- {name}")
        if name == "db" and value is None:
            raise InvalidInputException(f"--{name} needs {_OPTIONS[name]}")
        options[name] = value.strip("\"'") if value else None
        line = line[found.end() :]
    if len(options) > 1:
        raise InvalidInputException("%sql takes --connect or --db, not both")
    return options, line


def load(shell: Any) -> None:
    """Register the magics with an IPython shell."""
    magic = Magic(shell)
    shell.register_magic_function(magic.run, "line_cell", "sql")
    shell.register_magic_function(magic.run, "line_cell", "inlay")
