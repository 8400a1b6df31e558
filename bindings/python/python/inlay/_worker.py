"""
Worker processes for functions: how one is started, and what is told of functions and exceptions on the way.

A worker is this interpreter once more. It runs `main`, which hands over to the extension: requests come over the socket
that is its standard input, columns in shared memory. It ends when its host does.
"""

from __future__ import annotations

import importlib
import json
import os
import pickle
import re
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

_BOOT = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from inlay import _worker; _worker.main(sys.argv[2])"

#: Whether all functions run in this process, for a debugger.
SWITCHED_OFF = False

#: Names of plain interpreters.
_INTERPRETER = re.compile(r"(python|pypy)[\d.]*t?(\.exe)?", re.IGNORECASE)


class RemoteTraceback(Exception):  # noqa: N818
    """The traceback of an exception as text, from the process in which it was raised."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        """Show the traceback."""
        return self.text


def command(memory: int) -> list[str]:
    """
    Return the command line of a worker, whose own memory is limited to so many bytes unless they are 0.

    A program that has an interpreter inside of it would be started anew instead: that is a RuntimeError. What
    `multiprocessing.set_executable` was told is believed.
    """
    from multiprocessing import spawn

    executable = os.fsdecode(spawn.get_executable() or "")
    was_said = executable != (sys.executable or "")
    if not executable or (
        not was_said and (getattr(sys, "frozen", False) or not _INTERPRETER.fullmatch(Path(executable).name))
    ):
        message = (
            f"sys.executable is {executable!r}, which is no plain interpreter; "
            "multiprocessing.set_executable names the one to start"
        )
        raise RuntimeError(message)
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    # What this process finds, a worker finds: an empty entry is the folder of now.
    path = [entry or str(Path.cwd()) for entry in sys.path]
    return [executable, *flags, "-c", _BOOT, json.dumps(path), str(memory)]


def main(memory: str) -> None:
    """Serve requests until the host is gone."""
    import signal

    from inlay import _inlay

    # Ctrl-C is for the host, which says what is to end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if int(memory):
        import resource

        # Private memory, not columns: those are the host's.
        resource.setrlimit(resource.RLIMIT_DATA, (int(memory), int(memory)))
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(line_buffering=True)
    server = _inlay._WorkerServer()
    # What reads standard input finds nothing.
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    server.run()


def packed(name: str, function: Any) -> tuple[str, bytes]:
    """
    Make bytes of a callable: by cloudpickle if it is installed, or as a name in a module that can be imported.

    Raises TypeError with what stands in the way.
    """
    try:
        import cloudpickle  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        cloudpickle = None
    if cloudpickle is not None:
        try:
            return "pickle", cloudpickle.dumps(function)
        except Exception as error:
            message = f'function "{name}" cannot be sent to a worker process: {error}'
            raise TypeError(message) from error
    module, path = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    found: Any = None
    if module and module != "__main__" and path and "<" not in path:
        try:
            found = _found(module, path)
        except (ImportError, AttributeError):
            found = None
    if found is not function:
        message = (
            f'function "{name}" cannot be sent to a worker process: without the package cloudpickle it has to be '
            "a function of a module that can be imported"
        )
        raise TypeError(message)
    return "name", f"{module}:{path}".encode()


def _found(module: str, path: str) -> Any:
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found


def unpacked(kind: str, data: bytes) -> Any:
    """Make a callable of its bytes."""
    if kind == "name":
        module, _, path = data.decode().partition(":")
        return _found(module, path)
    return pickle.loads(data)


def failure(error: BaseException) -> tuple[bytes, str]:
    """Return an exception as bytes, empty where it cannot be sent, and its traceback as text."""
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    for exception in (error, RuntimeError(f"{type(error).__name__}: {error}")):
        try:
            data = pickle.dumps(exception)
            pickle.loads(data)
        except Exception:
            continue
        return data, text
    return b"", text


def revived(data: bytes, text: str) -> BaseException:
    """Make the exception again; its cause is the traceback that it had there."""
    try:
        error = pickle.loads(data)
    except Exception:
        error = None
    lines = text.strip().splitlines()
    known: BaseException = RuntimeError(lines[-1] if lines else "a worker process failed")
    if isinstance(error, BaseException):
        known = error
    known.__cause__ = RemoteTraceback("\n" + text)
    return known
