"""Networks that a relay imitates, and peers of the protocol's benchmark that need nothing installed."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from bench import data
from bench.protocol import generate, suite
from bench.protocol.peers import DuckDB, Netcat, NetcatGzip, NetcatLz4, SQLite, rows_answer
from bench.protocol.relay import LAN, LOCAL, WAN, Network, Relay


@pytest.mark.parametrize("network", [LOCAL, LAN, WAN], ids=lambda network: network.name)
def test_a_relay_passes_on_every_byte(network: Network) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    sent = bytes(range(256)) * 2_000

    def serve() -> None:
        end, _ = listener.accept()
        with end:
            end.sendall(end.recv(100) + sent)

    threading.Thread(target=serve, daemon=True).start()
    relay = Relay(listener.getsockname()[1], network)
    with socket.create_connection(("127.0.0.1", relay.port)) as end:
        end.sendall(b"ask")
        found = b"".join(iter(lambda: end.recv(65_536), b""))
    assert found == b"ask" + sent
    assert relay.bytes() == len(sent) + 6
    relay.close()


def test_peers_agree(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(data, "CACHE", tmp_path / "data")
    tables = generate.files(0.001)
    expected: dict[str, tuple[int, int]] = {}
    for kind in (DuckDB, Netcat, NetcatLz4, NetcatGzip, SQLite):
        home = tmp_path / kind.__name__
        home.mkdir()
        peer = kind(tables, home)
        port = peer.start()
        for table in tables:
            seconds, answer = peer.fetch(port, table)
            assert seconds > 0
            assert answer == expected.setdefault(table, answer), (peer.name, table)
        peer.close()
    assert expected["ontime"] == (1000, sum(range(1000)))
    assert set(suite.GOALS) == {"local", "LAN", "WAN"}


def test_answers_of_rows_are_counted() -> None:
    assert rows_answer(iter([[(1, "a"), (2, "b")], [(5, "c")]])) == (3, 8)
