"""How far a long query is, in terminals and notebooks. Imported when there is something to show."""

from __future__ import annotations

import sys
from typing import Any

WIDTH = 40


def text(fraction: float, seconds: float) -> str:
    """Write a bar for a query that is `fraction` done, from 0 to 1, after `seconds`."""
    done = min(max(fraction, 0.0), 1.0)
    filled = int(done * WIDTH)
    left = f"{_clock(seconds * (1 - done) / done)} left" if done > 0.005 else _clock(seconds)
    return f"{done:4.0%} ▕{'█' * filled}{' ' * (WIDTH - filled)}▏ {left}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(min(seconds, 359_999)), 60)
    return f"{rest} s" if minutes == 0 else f"{minutes}:{rest:02}"


def _notebook_display() -> Any:
    """`IPython.display.display` of a notebook; None elsewhere."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or type(shell).__name__ != "ZMQInteractiveShell":
        return None
    from IPython.display import display

    return display


class Bar:
    """The bar of one query: a line of a terminal's standard error, or an output of a notebook's cell."""

    def __init__(self) -> None:
        display = _notebook_display()
        self._handle = display({"text/plain": ""}, raw=True, display_id=True) if display else None
        self._is_terminal = self._handle is None and sys.stderr is not None and sys.stderr.isatty()

    def show(self, fraction: float, seconds: float) -> None:
        """Draw it again."""
        line = text(fraction, seconds)
        if self._handle is not None:
            self._handle.update({"text/plain": line}, raw=True)
        elif self._is_terminal:
            sys.stderr.write(f"\r{line}\x1b[K")
            sys.stderr.flush()

    def close(self) -> None:
        """Remove it."""
        if self._handle is not None:
            self._handle.update({"text/plain": ""}, raw=True)
        elif self._is_terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
