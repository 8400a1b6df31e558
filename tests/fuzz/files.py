"""
Damaged files of every format that Inlay reads: an answer or an error, never a crash, a panic or a hang.

    python -m tests.fuzz.files --minutes 30 --format parquet,csv,json,arrow,xlsx

Files that other programs and Inlay wrote are damaged at random: bits flipped, bytes replaced, cut out, repeated,
swapped between files. They are read in a process of its own; when it dies, its last file is kept under
`tests/fuzz/crashes`.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import multiprocessing
import random
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

CRASHES = Path(__file__).with_name("crashes")
PATIENCE = 30.0
READERS = {
    "parquet": ("SELECT * FROM read_parquet('{}')", "SELECT count(*) FROM parquet_metadata('{}')"),
    "csv": ("SELECT * FROM read_csv('{}')", "SELECT * FROM read_csv('{}', all_varchar = true, ignore_errors = true)"),
    "json": ("SELECT * FROM read_json('{}')", "SELECT * FROM read_ndjson('{}', ignore_errors = true)"),
    "arrow": ("SELECT * FROM read_arrow('{}')",),
    "xlsx": (
        "SELECT * FROM read_xlsx('{}')",
        "SELECT * FROM read_xlsx('{}', range = 'A2:Z400', header = false, all_varchar = true, stop_at_empty = false)",
    ),
}
ROWS = """
    SELECT i, i % 7 = 0 AS b, i * 1.5 AS d, (i * 0.01)::DECIMAL(12, 2) AS p, 'text ' || i % 13 AS s,
           repeat('long ', i % 9) AS l, DATE '2024-01-01' + (i % 900)::INTEGER AS day,
           TIMESTAMP '2024-01-01' + to_seconds(i) AS ts,
           CASE WHEN i % 3 > 0 THEN [i, NULL, i + 1] END AS list, {'a': i, 'b': 'x' || i} AS struct, NULL::INTEGER AS n
    FROM range(500) t(i)
"""


def seeds(kind: str, folder: Path) -> list[bytes]:
    """Whole files."""
    import inlay

    con = inlay.connect()
    options = {
        "parquet": [f"COMPRESSION {codec}, ROW_GROUP_SIZE 200" for codec in ("snappy", "zstd", "gzip", "uncompressed")],
        "csv": ["HEADER", "DELIMITER ';', QUOTE ''''", "COMPRESSION gzip", "HEADER false, DELIMITER '\t'"],
        "json": ["ARRAY true", "ARRAY false", "COMPRESSION zstd"],
        "arrow": ["COMPRESSION lz4", "COMPRESSION zstd", ""],
        "xlsx": ["HEADER", "HEADER false, SHEET 'other'"],
    }
    found = []
    for number, option in enumerate(options[kind]):
        path = folder / f"seed{number}"
        # CSV has no text for nested values that every dialect takes.
        rows = f"SELECT COLUMNS(* EXCLUDE (list, struct)) FROM ({ROWS})" if kind in ("csv", "xlsx") else ROWS
        con.execute(f"COPY ({rows}) TO '{path}' (FORMAT {kind}{', ' if option else ''}{option})")
        found.append(path.read_bytes())
    if kind == "parquet":
        found += written_by_pyarrow(con.execute(ROWS).arrow(), folder)
    if kind == "xlsx":
        found += written_by_openpyxl(folder)
    if kind == "csv":
        found += [b'a,b\r\n1,"x ""q"" y"\r\n2,"\n"\r\n', "ä;ö\n1,5;2\n".encode("utf-16"), b"", b"a\n"]
    if kind == "json":
        found += [
            json.dumps([{"a": [1, {"b": None}], "ä": "\U0001f600"}] * 20).encode(),
            gzip.compress(b'{"a": 1}\n' * 50),
        ]
    return found


def written_by_pyarrow(table: Any, folder: Path) -> list[bytes]:
    """The same rows with other pages and encodings."""
    import pyarrow.parquet as pq

    found = []
    for number, options in enumerate(
        (
            {"data_page_version": "2.0", "compression": "zstd", "data_page_size": 500},
            {"use_dictionary": False, "column_encoding": {"i": "DELTA_BINARY_PACKED", "s": "DELTA_BYTE_ARRAY"}},
            {"version": "1.0", "compression": "none", "write_page_index": True, "row_group_size": 100},
        )
    ):
        path = folder / f"pyarrow{number}"
        pq.write_table(table, path, **options)
        found.append(path.read_bytes())
    return found


def written_by_openpyxl(folder: Path) -> list[bytes]:
    """Cells with formulas, styles, links and comments, merged ones and errors."""
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["a", "b", "c"])
    for number in range(50):
        book.active.append([number, f"=A{number + 1}*2", "#N/A" if number % 7 == 0 else f"<text> {number}"])
    book.active.merge_cells("A3:A5")
    book.active["B9"].number_format = "[h]:mm"
    book.create_sheet("empty")
    path = folder / "openpyxl.xlsx"
    book.save(path)
    return [path.read_bytes()]


def damaged_inside(files: list[bytes], dice: random.Random) -> bytes:
    """A workbook of which one part is damaged, so that unpacking it finds nothing wrong."""
    parts = []
    with zipfile.ZipFile(io.BytesIO(dice.choice(files))) as packed:
        parts = [(name, packed.read(name)) for name in packed.namelist()]
    at = dice.randrange(len(parts))
    name, content = parts[at]
    parts[at] = (name, damaged([content], dice))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in parts:
            packed.writestr(name, content)
    return out.getvalue()


def damaged(files: list[bytes], dice: random.Random) -> bytes:
    """One file with some damage."""
    data = bytearray(dice.choice(files))
    for _ in range(dice.choice((1, 1, 2, 4, 16))):
        if not data:
            break
        # What says how the rest is read is at the end of Parquet and Arrow files.
        near_end = dice.random() < 0.5
        at = max(0, len(data) - 1 - dice.randrange(2000)) if near_end else dice.randrange(len(data))
        size = dice.choice((1, 1, 2, 4, 8, 64))
        match dice.randrange(7):
            case 0:
                data[at] ^= 1 << dice.randrange(8)
            case 1:
                data[at : at + size] = bytes(dice.randrange(256) for _ in range(size))
            case 2:
                data[at : at + size] = dice.choice((b"\x00", b"\xff", b"\x7f", b"\x80")) * size
            case 3:
                del data[at : at + size]
            case 4:
                data[at:at] = data[at : at + size] * dice.choice((1, 2, 100))
            case 5:
                other = dice.choice(files)
                start = dice.randrange(len(other) + 1)
                data[at : at + size] = other[start : start + size]
            case _:
                del data[at:]
    return bytes(data)


def read_all(kind: str, pipe: Connection) -> None:
    """Body of the reading process: one path in, one outcome out."""
    import inlay

    con = inlay.connect(config={"threads": 2, "memory_limit": "500MB"})
    while True:
        path = pipe.recv()
        if path is None:
            return
        outcomes = []
        for query in READERS[kind]:
            try:
                con.execute(query.format(path)).fetchall()
                outcomes.append("read")
            except inlay.InternalError as error:
                outcomes.append(f"INTERNAL: {error}")
            except inlay.Error as error:
                outcomes.append(type(error).__name__)
            except (ValueError, OverflowError) as error:
                # Dates that Python's datetime does not have.
                outcomes.append(f"python: {type(error).__name__}")
        pipe.send(outcomes)


class Reader:
    """The process that reads, started again when it dies."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.context = multiprocessing.get_context("spawn")
        self.start()

    def start(self) -> None:
        self.pipe, other = self.context.Pipe()
        self.process = self.context.Process(target=read_all, args=(self.kind, other), daemon=True)
        self.process.start()
        other.close()

    def outcomes(self, path: Path) -> list[str]:
        self.pipe.send(str(path))
        try:
            if self.pipe.poll(PATIENCE):
                found: list[str] = self.pipe.recv()
                return found
            self.process.kill()
            reason = f"HANGS: more than {PATIENCE:.0f} s"
        except EOFError:
            reason = ""
        self.process.join()
        reason = reason or f"DIES: exit code {self.process.exitcode}"
        self.start()
        return [reason]


def run(kind: str, goes_on: Callable[[int], bool], seed: int) -> tuple[Counter[str], list[str]]:
    """Read damaged files; how often each outcome came, and the findings."""
    dice = random.Random(seed)
    counts: Counter[str] = Counter()
    findings = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = seeds(kind, folder)
        reader = Reader(kind)
        number = 0
        while goes_on(number):
            path = folder / f"damaged.{kind}"
            inside = kind == "xlsx" and dice.random() < 0.8
            path.write_bytes(damaged_inside(files, dice) if inside else damaged(files, dice))
            for outcome in reader.outcomes(path):
                bad = outcome.startswith(("INTERNAL", "HANGS", "DIES"))
                counts[outcome.partition(":")[0]] += 1
                if bad:
                    CRASHES.mkdir(exist_ok=True)
                    kept = CRASHES / f"{kind}-{seed}-{number}"
                    kept.write_bytes(path.read_bytes())
                    findings.append(f"{kept}: {outcome}")
            number += 1
        reader.pipe.send(None)
        reader.process.join()
    return counts, findings


def main() -> int:
    """Read damaged files for some minutes; the exit code says whether something was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1, help="for each format")
    parser.add_argument("--format", default=",".join(READERS))
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    all_findings = []
    for kind in options.format.split(","):
        end = time.monotonic() + options.minutes * 60
        counts, findings = run(kind, lambda _number, end=end: time.monotonic() < end, options.seed)  # type: ignore[misc]
        print(kind, dict(counts.most_common()), flush=True)
        all_findings += findings
    print("\n".join(all_findings))
    return bool(all_findings)


if __name__ == "__main__":
    sys.exit(main())
