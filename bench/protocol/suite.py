"""Whole tables through the network, by protocols beside each other: "Don't hold my data hostage", tables 3.8 to 3.10.

    python -m bench protocol --sf 0.1                          a hundredth of the paper's rows; 1 is a tenth
    python -m bench protocol --sf 0.1 --only netcat,inlay      nothing is written

A figure is the median of the times from the query on an open connection to its last row in the client, peers taking
turns. The networks are relays (`bench.protocol.relay`), checked by a ping; what has passed is counted there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from bench import report
from bench.data import scratch
from bench.machine import description, record
from bench.protocol import generate
from bench.protocol.peers import PEERS, Answer, MissingError, Netcat, Peer
from bench.protocol.relay import NETWORKS, Network, Relay, ping

# What the paper's protocol needed, in multiples of netcat's time, and its compressed bytes as a share of the CSV's.
GOALS: Mapping[str, float] = {"local": 0.5, "LAN": 0.2, "WAN": 0.15}
BYTES: Mapping[str, float] = {"lineitem": 0.315, "acs": 0.26, "ontime": 0.10}
SECONDS_MAX = 60.0
NAMES = ("netcat", "postgresql", "mariadb", "arrow")


@dataclass
class Figures:
    """Of one peer: seconds by network and table, bytes by table, what went wrong."""

    seconds: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    bytes: dict[tuple[str, str], int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def median(self, network: str, table: str) -> float | None:
        found = self.seconds.get((network, table))
        return median(found) if found else None


class Bench:
    """Peers that run, and what was measured."""

    def __init__(self, only: Sequence[str] | None, scale: float, folder: Path) -> None:
        self.tables = generate.files(scale)
        self.peers: list[tuple[Peer, int]] = []
        self.figures: dict[str, Figures] = {}
        for kind in PEERS:
            if only and kind is not Netcat and not any(kind.name.lower().startswith(word.lower()) for word in only):
                continue
            home = folder / kind.name.replace(", ", "-").replace(" ", "-")
            home.mkdir()
            home.chmod(0o755)
            peer = kind(self.tables, home)
            try:
                self.peers.append((peer, peer.start()))
                self.figures[peer.name] = Figures()
                print(f"{peer.name} is ready", flush=True)
            except (MissingError, ImportError) as problem:
                peer.close()
                print(f"{peer.name} is left out: {problem}", flush=True)

    def close(self) -> None:
        for peer, _ in self.peers:
            peer.close()

    def measure(self, network: Network, repetitions: int) -> None:
        relays = {}
        for peer, port in self.peers:
            if not peer.inside:
                # Where there is no link to imitate, a relay would be the slowest part; it counts bytes once.
                relays[peer.name] = Relay(port, network)
        for table in self.tables:
            expected: Answer | None = None
            for repetition in range(repetitions + 1):
                for peer, port in self.peers:
                    figures = self.figures[peer.name]
                    spent = figures.seconds.setdefault((network.name, table), [])
                    if (peer.inside and network.bits) or sum(spent) > SECONDS_MAX:
                        continue
                    relay = relays.get(peer.name)
                    through = relay is not None and (network.bits is not None or repetition == 0)
                    before = relay.bytes() if relay else 0
                    seconds, answer = peer.fetch(relay.port if relay and through else port, table)
                    if relay and through and repetition == 0:
                        figures.bytes[network.name, table] = relay.bytes() - before
                    expected = expected or answer
                    if answer != expected:
                        figures.problems.append(f"{table}: {answer} instead of {expected}")
                    # The first time is a warm-up.
                    if repetition:
                        spent.append(seconds)
            print(network.name, table, {n: f.median(network.name, table) for n, f in self.figures.items()}, flush=True)
        for relay in relays.values():
            relay.close()


def lines(bench: Bench, pings: Mapping[str, float]) -> Iterator[str]:
    """The page."""
    csv = bench.figures["netcat"]
    yield "| network | link | ping | goal |"
    yield "|---|---|---:|---:|"
    for network in NETWORKS:
        link = f"{network.bits / 1e6:g} Mbit/s" if network.bits else "none between"
        yield f"| {network.name} | {link} | {pings[network.name] * 1e3:.2f} ms | {GOALS[network.name]} |"
    for title, what in (("Time, multiples of netcat's CSV", "seconds"), ("Bytes, share of the CSV's", "bytes")):
        yield f"\n{title}:\n"
        cells = [f"{table}, {network.name}" for network in NETWORKS for table in bench.tables]
        yield f"| | {' | '.join(cells)} |"
        yield "|---|" + "---:|" * len(cells)
        for name, figures in bench.figures.items():
            row = []
            for network in NETWORKS:
                for table in bench.tables:
                    if what == "seconds":
                        ours, base = figures.median(network.name, table), csv.median(network.name, table)
                    else:
                        ours = figures.bytes.get((network.name, table))
                        base = csv.bytes.get((network.name, table))
                    row.append("" if ours is None or not base else f"{ours / base:.3g}")
            yield f"| {name} | {' | '.join(row)} |"
    yield "\nnetcat itself, seconds: " + ", ".join(
        f"{table}, {network.name} {csv.median(network.name, table) or 0:.2f}"
        for network in NETWORKS
        for table in bench.tables
    )
    yield "Bytes of the paper's compressed protocol: " + ", ".join(f"{t} {share:.3f}" for t, share in BYTES.items())


def run(only: Sequence[str] | None, scale: float, repetitions: int) -> int:
    """Measures, prints, and writes a complete run; exit code."""
    with scratch("protocol-") as folder:
        # Servers run as other users.
        Path(folder).chmod(0o755)
        bench = Bench(only, scale, Path(folder))
        try:
            pings = {network.name: ping(network) for network in NETWORKS}
            for network in NETWORKS:
                bench.measure(network, repetitions)
        finally:
            bench.close()
    machine = description()
    text = "\n".join(
        [
            f"# Whole tables through a network, scale {scale:g}\n",
            f"{machine['processor']}, {machine['cores']} cores; commit {machine['commit']}; "
            f"median of {repetitions} runs, peers taking turns.\n",
            *lines(bench, pings),
            "",
        ]
    )
    print("\n" + text)
    problems = [f"{name}: {problem}" for name, figures in bench.figures.items() for problem in figures.problems]
    print("\n".join(f"FAILED: {problem}" for problem in problems))
    if only is None and not problems:
        found = {
            name: {f"{network} {table}": seconds for (network, table), seconds in figures.seconds.items()}
            for name, figures in bench.figures.items()
        }
        report.write("protocol", text, record("protocol", 2, scale=scale, engines=found))
        print("written: bench/results/protocol.md, bench/results/protocol.jsonl")
    return 1 if problems else 0
