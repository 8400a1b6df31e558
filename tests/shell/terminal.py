"""The shell in a pseudo-terminal."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

from tests.shell.screen import Screen

PATIENCE = 60.0
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b\][^\x07]*\x07|\x1b[=>78]")


class Terminal:
    """The shell in a pseudo-terminal of 100 columns and 30 lines."""

    def __init__(self, home: Path, *args: str, **environment: str) -> None:
        self.seen = ""
        self.screen = Screen(100, 30)
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            os.chdir(home)
            plain = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "PAGER")}
            plain |= {"HOME": str(home), "TERM": "xterm-256color", **environment}
            os.execve(sys.executable, [sys.executable, "-m", "inlay", *args], plain)
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))

    def read(self, seconds: float = 0.1) -> bool:
        if not select.select([self.file], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.file, 65536)
        except OSError:
            return False
        # An editor asks where the cursor is; a terminal answers.
        *asked, rest = self.decoder.decode(data).split("\x1b[6n")
        for before in asked:
            self.screen.feed(before)
            os.write(self.file, f"\x1b[{self.screen.row + 1};{min(self.screen.column, 99) + 1}R".encode())
        self.screen.feed(rest)
        self.seen += "".join([*asked, rest])
        return bool(data)

    def text(self) -> str:
        return ESCAPES.sub("", self.seen)

    def until(self, is_there: Callable[[str], bool], wanted: str) -> str:
        """Reads until something is there; everything since the last time."""
        end = time.monotonic() + PATIENCE
        while not is_there(self.text()):
            alive = self.read()
            assert alive and time.monotonic() < end, f"no {wanted!r} in {self.text()[-2000:]!r}"
        return self.text()

    def wait(self, wanted: str) -> str:
        """What was shown until `wanted` is there, which is forgotten with it."""
        before, _, after = self.until(lambda text: wanted in text, wanted).partition(wanted)
        self.seen = after
        return before

    def ready(self) -> None:
        """Waits for the prompt."""
        self.until(lambda text: text.rstrip().endswith("inlay>"), "inlay>")
        self.seen = ""

    def type(self, text: str) -> None:
        os.write(self.file, text.encode())

    def ask(self, text: str, wanted: str = "") -> str:
        """Types a line at the prompt; what was shown before `wanted`."""
        self.type(text + "\r")
        shown = self.wait(wanted) if wanted else ""
        self.ready()
        return shown

    def end(self) -> int:
        """Reads to the end; the exit code."""
        end = time.monotonic() + PATIENCE
        while self.read():
            assert time.monotonic() < end, self.text()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def started(home: Path, *args: str, **environment: str) -> Terminal:
    terminal = Terminal(home, *args, **environment)
    terminal.ready()
    return terminal


def left(terminal: Terminal) -> None:
    terminal.type("\x04")
    assert terminal.end() == 0
