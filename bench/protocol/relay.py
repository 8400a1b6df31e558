"""A network between two ports of this machine: a process that passes bytes on late and no faster than a link would.

The kernel's own means (netem) are rarely there. What a link holds on its way is bounded by its rate and delay, as in a
socket, so whoever sends too much waits.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import queue
import socket
import threading
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from statistics import median
from typing import Any

PIECE = 256 << 10


@dataclass(frozen=True)
class Network:
    """Bits a second, none for as fast as goes, and seconds to the other end and back."""

    name: str
    bits: float | None
    round_trip: float


LOCAL = Network("local", None, 0.0)
LAN = Network("LAN", 1e9, 0.0003)
WAN = Network("WAN", 1e8, 0.025)
NETWORKS = (LOCAL, LAN, WAN)


def pump(source: socket.socket, target: socket.socket, network: Network, count: Any) -> None:
    """Passes bytes on in one direction until the source ends."""
    delay = network.round_trip / 2
    rate = (network.bits or 0) / 8
    # Pieces of about a millisecond of the link, so that nothing arrives in lumps.
    piece = PIECE if not rate else max(1448, min(PIECE, int(rate / 1000)))
    on_its_way: queue.Queue[tuple[float, bytes]] = queue.Queue(
        maxsize=max(4, int((rate * (delay + 0.004)) / piece)) if rate else 64
    )

    def deliver() -> None:
        while True:
            due, data = on_its_way.get()
            if not data:
                break
            left = due - time.perf_counter()
            if left > 0:
                time.sleep(left)
            try:
                target.sendall(data)
            except OSError:
                break
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    sender = threading.Thread(target=deliver, daemon=True)
    sender.start()
    free_at = 0.0
    while True:
        try:
            data = source.recv(piece)
        except OSError:
            data = b""
        now = time.perf_counter()
        with count.get_lock():
            count.value += len(data)
        free_at = max(free_at, now) + (len(data) / rate if rate else 0.0)
        on_its_way.put((free_at + delay, data))
        if not data:
            break
    sender.join()


def serve(port: int, network: Network, count: Any, ready: Connection) -> None:
    """The relay's process."""
    listener = socket.create_server(("127.0.0.1", 0))
    ready.send(listener.getsockname()[1])
    while True:
        client, _ = listener.accept()
        server = socket.create_connection(("127.0.0.1", port))
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for source, target in ((client, server), (server, client)):
            threading.Thread(target=pump, args=(source, target, network, count), daemon=True).start()


class Relay:
    """A relay to a port; `port` is where clients go, `bytes()` what has passed, both ways."""

    def __init__(self, target: int, network: Network) -> None:
        context = multiprocessing.get_context("spawn")
        self.count = context.Value("Q", 0)
        ours, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(target, network, self.count, theirs), daemon=True)
        self.process.start()
        self.port: int = ours.recv()

    def bytes(self) -> int:
        return int(self.count.value)

    def close(self) -> None:
        self.process.kill()
        self.process.join()


def ping(network: Network, rounds: int = 9) -> float:
    """Median seconds of a byte there and back through a relay."""
    listener = socket.create_server(("127.0.0.1", 0))

    def echo() -> None:
        end, _ = listener.accept()
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while data := end.recv(64):
            end.sendall(data)

    threading.Thread(target=echo, daemon=True).start()
    relay = Relay(listener.getsockname()[1], network)
    times = []
    with socket.create_connection(("127.0.0.1", relay.port)) as end:
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(rounds):
            start = time.perf_counter()
            end.sendall(b"x")
            end.recv(1)
            times.append(time.perf_counter() - start)
    relay.close()
    listener.close()
    return median(times)
