"""
`%sql` and `%%sql` for IPython; `%load_ext inlay` brings them.

`%sql SELECT 1` gives a relation, `%%sql name <<` puts that of the cell into a variable, and
`%sql --connect trips.inlay` opens another database. Variables of the notebook are tables by name, and `$name` is the
value of a variable.
"""

from __future__ import annotations

import re
from typing import Any

from inlay._expression import with_values
from inlay._inlay import Connection, connect
from inlay._relation import relation


class Magic:
    """What the magics of one notebook share: its connection."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self._connection: Connection | None = None

    @property
    def connection(self) -> Connection:
        """The connection: the package's default one, unless another was opened."""
        import inlay

        return self._connection or inlay.default_connection()

    def run(self, line: str, cell: str | None = None) -> Any:
        """Run a line, or a cell whose first line may name a variable."""
        opened = re.fullmatch(r"\s*--connect(?:\s+(\S+))?\s*", line)
        if opened:
            self._connection = connect(opened[1] or ":memory:")
            if not cell:
                return None
            line = ""
        target = re.match(r"\s*(\w+)\s*<<", line)
        text = line[target.end() :] if target else line
        text = f"{text}\n{cell}" if cell else text
        # The variables are looked for where a query is run from: in the notebook.
        scope = {**self.shell.user_ns, "__name__": "__main__"}
        named = {name: scope[name] for name in re.findall(r"\$([A-Za-z_]\w*)", text) if name in scope}
        scope["__inlay_work__"] = lambda: relation(self.connection, with_values(text, named) if named else text)
        result = eval("__inlay_work__()", scope)
        if target:
            self.shell.user_ns[target[1]] = result
            return None
        return result


def load(shell: Any) -> None:
    """Register the magics with an IPython shell."""
    magic = Magic(shell)
    shell.register_magic_function(magic.run, "line_cell", "sql")
    shell.register_magic_function(magic.run, "line_cell", "inlay")
