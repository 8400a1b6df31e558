"""The short way from an edit to its tests: what has changed since a commit decides what is checked and run.

    python -m tests.quick [--since main] [--profile work] [--list]

Changed Rust files choose crates (Clippy, unit tests), words of their paths choose SQL files and Python tests, changed
test files choose themselves. It stands in front of `make check` and `make test`, not in their place. `--find` prints
the Python tests that a part of a path means.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON_TESTS = ("bindings/python/tests", "tests")
#: Words of paths that say nothing about what a file is about.
DULL = {
    "src",
    "mod",
    "rs",
    "py",
    "lib",
    "crates",
    "inlay",
    "tests",
    "sql",
    "functions",
    "operator",
    "main",
    "python",
    "it",
}
#: SQL files run at most; more is what `make test` is for.
FILES_MAX = 12


@dataclass
class Change:
    """What changed files ask for."""

    crates: set[str] = field(default_factory=set)
    sql: set[Path] = field(default_factory=set)
    python: set[Path] = field(default_factory=set)
    is_python_checked: bool = False


def git(*args: str) -> list[str]:
    done = subprocess.run(["git", *args], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"git {' '.join(args)}: {done.stderr.strip()}")
    return done.stdout.splitlines()


def changed_files(since: str) -> list[Path]:
    """Files that differ from where the branch left `since`, committed or not, known to git or not."""
    base = git("merge-base", since, "HEAD")[0]
    names = git("diff", "--name-only", base) + git("ls-files", "--others", "--exclude-standard")
    return sorted({Path(name) for name in names if (ROOT / name).is_file()})


def words(path: Path) -> set[str]:
    """Words of a path, without what stands in every path; a plural is its singular."""
    parts = re.split(r"[/_.\-]", str(path.with_suffix("")))
    return {part.removesuffix("s") for part in parts if part and part not in DULL and not part.startswith("inlay-")}


def crate_of(path: Path) -> str | None:
    for folder in path.parents:
        if folder != Path() and (ROOT / folder / "Cargo.toml").is_file():
            text = (ROOT / folder / "Cargo.toml").read_text()
            found = re.search(r'^name = "([^"]+)"', text, re.MULTILINE)
            return found[1] if found else None
    return None


def sql_files() -> list[Path]:
    return sorted(path.relative_to(ROOT) for path in (ROOT / "tests/sql").rglob("*.slt"))


def python_tests() -> list[Path]:
    found = [path for folder in PYTHON_TESTS for path in (ROOT / folder).rglob("test_*.py")]
    return sorted({path.relative_to(ROOT) for path in found})


def wanted(files: list[Path]) -> Change:
    change = Change()
    subjects: list[set[str]] = []
    for path in files:
        match path.suffix:
            case ".slt" | ".test":
                change.sql.add(path)
            case ".py" | ".pyi":
                change.is_python_checked = True
                if path.name.startswith("test_"):
                    change.python.add(path)
                elif path.is_relative_to("bindings/python"):
                    subjects.append(words(Path(path.name)))
            case ".rs" | ".toml" if (crate := crate_of(path)) is not None:
                change.crates.add(crate)
                subjects.append(words(path))
            case _:
                pass
    for subject in subjects:
        change.sql |= {path for path in sql_files() if subject & words(path.relative_to("tests/sql"))}
        change.python |= {path for path in python_tests() if subject & (words(Path(path.name)) - {"test"})}
    return change


def run(name: str, command: list[str], extra: dict[str, str] | None = None) -> bool:
    print(f"-- {name}: {' '.join(command)}", flush=True)
    began = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **(extra or {})}, check=False)
    print(
        f"-- {name}: {'passed' if done.returncode == 0 else 'FAILED'} in {time.monotonic() - began:.0f} s", flush=True
    )
    return done.returncode == 0


def packages(crates: set[str]) -> list[str]:
    return [part for crate in sorted(crates) for part in ("-p", crate)]


def steps(change: Change, profile: str) -> list[tuple[str, list[str], dict[str, str]]]:
    found: list[tuple[str, list[str], dict[str, str]]] = []
    tools = Path(sys.executable).parent
    if change.is_python_checked:
        found.append(("ruff", [str(tools / "ruff"), "check", "."], {}))
    if change.crates:
        found.append(("format", ["cargo", "fmt", "--all", "--check"], {}))
        lint = ["cargo", "clippy", "--quiet", *packages(change.crates), "--all-targets", "--", "-D", "warnings"]
        found.append(("clippy", lint, {}))
    # Bindings are tested from Python.
    tested = change.crates - {"inlay-python", "inlay-adbc", "workspace-hack"}
    if tested:
        unit = ["cargo", "test", "--quiet", "--profile", profile, *packages(tested), "--lib"]
        found.append(("unit tests", unit, {}))
    engine = ["cargo", "test", "--quiet", "--profile", profile, "-p", "inlay", "--test", "it", "slt::"]
    if change.sql:
        files = ",".join(str(ROOT / path) for path in sorted(change.sql)[:FILES_MAX])
        found.append(("SQL files", engine, {"INLAY_SLT": files}))
    if change.python:
        if change.crates:
            found.append(("package", ["make", "setup", f"PROFILE={profile}"], {}))
        found.append(("Python", [sys.executable, "-m", "pytest", *map(str, sorted(change.python))], {}))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="what changed since a commit is checked and tested")
    parser.add_argument("--since", default="main", help="a commit or branch; changes since the common ancestor count")
    parser.add_argument("--profile", default="work", help="cargo's profile")
    parser.add_argument("--list", action="store_true", help="print the steps only")
    parser.add_argument("--find", metavar="PART", help="print the Python tests whose path has this part")
    args = parser.parse_args()
    if args.find is not None:
        found = [path for path in python_tests() if args.find in str(path)]
        if not found:
            sys.exit(f"no Python test has {args.find!r} in its path; they lie in {' and '.join(PYTHON_TESTS)}")
        print(*found)
        return 0
    change = wanted(changed_files(args.since))
    todo = steps(change, args.profile)
    if len(change.sql) > FILES_MAX:
        print(f"-- {len(change.sql)} SQL files touch it, {FILES_MAX} are run; `make test` runs all")
    if not todo:
        print(f"-- nothing that has tests changed since {args.since}")
    for name, command, extra in todo:
        if args.list:
            print(name, extra.get("INLAY_SLT", ""), *command)
        elif not run(name, command, extra):
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
