"""
Sail in a process of its own, for `sail://local`: Ctrl-C ends a query of this process, not the server.

The server is this interpreter once more, in a session of its own, where no signal of a terminal reaches it. It says its
port, and ends when its standard input does: with `Sail.stop`, or with this process, however that ends.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading

from inlay import _worker
from inlay.exceptions import NotSupportedError, OperationalError

_BOOT = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from inlay import _sail; _sail.main()"

#: How long a server may take to start, and to end by itself.
_START_SECONDS, _END_SECONDS = 60, 3


class Sail:
    """A server that was started here."""

    def __init__(self) -> None:
        try:
            import pysail.spark  # noqa: F401
        except ImportError:
            raise NotSupportedError("sail://local needs the package pysail: pip install inlay[sail]") from None
        try:
            command = _worker.command(0)
        except RuntimeError as error:
            raise NotSupportedError(f"sail://local starts another interpreter: {error}") from None
        command[command.index(_worker._BOOT)] = _BOOT
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, "RUST_LOG": os.environ.get("RUST_LOG", "error")},
            start_new_session=True,
        )
        self.port = self._told_port()

    def _told_port(self) -> int:
        """Wait for the port; a server that never says one is ended."""
        process = self._process
        watch = threading.Timer(_START_SECONDS, process.kill)
        watch.daemon = True
        watch.start()
        try:
            line = process.stdout.readline() if process.stdout is not None else b""
        except BaseException:
            self.stop()
            raise
        finally:
            watch.cancel()
        if not line.strip().isdigit():
            self.stop()
            self._log.seek(0)
            last = self._log.read().decode(errors="replace").strip().splitlines()
            raise OperationalError(f"sail://local did not start: {last[-1] if last else 'it said nothing'}")
        return int(line)

    @property
    def process_id(self) -> int:
        """The number of the server's process."""
        return self._process.pid

    def stop(self) -> None:
        """End the server."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def main() -> None:
    """Serve until nobody holds the other end of standard input."""
    import signal
    import warnings

    warnings.simplefilter("ignore")
    # Sail would end at Ctrl-C, for which it has a handler of its own: its threads inherit that signals are held back.
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    from pysail.spark import SparkConnectServer

    server = SparkConnectServer(ip="127.0.0.1", port=0)
    server.start(background=True)
    print(server.listening_address[1], flush=True)
    # Functions that print would fill a pipe that nobody reads.
    os.dup2(2, 1)
    while os.read(0, 1 << 12):
        pass
    # The server waits for queries that run; nobody waits for those.
    sys.stdout.flush()
    os._exit(0)
