"""Whether dependencies have the same features whichever package is built: what `crates/workspace-hack` is for.

    python tests/features.py

Without, `cargo test -p inlay` behind `make setup` would compile the engine once more. Says what is missing where.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def features(*selection: str) -> dict[str, set[str]]:
    """The features of each dependency when these packages are built."""
    command = ["cargo", "tree", "--locked", "--prefix", "none", "--format", "{p}\t{f}", "--edges", "normal,build,dev"]
    done = subprocess.run([*command, *selection], cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, set[str]] = {}
    for line in done.stdout.splitlines():
        package, _, names = line.partition("\t")
        name = " ".join(package.split()[:2])
        found.setdefault(name, set()).update(part for part in names.removesuffix(" (*)").split(",") if part)
    return found


def members() -> list[str]:
    command = ["cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [package["name"] for package in json.loads(done.stdout)["packages"]]


def main() -> int:
    everything = features("--workspace")
    wrong = 0
    for member in set(members()) - {"workspace-hack"}:
        for name, alone in features("-p", member).items():
            missing = everything.get(name, set()) - alone
            if missing:
                wrong += 1
                lacks = ", ".join(sorted(missing))
                print(f"-p {member}: {name} lacks {lacks}; add it to crates/workspace-hack/Cargo.toml")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
