"""Seeds and words for the fuzzer of SQL text: statements of the test files, names of functions, keywords.

python fuzz/seeds.py        writes fuzz/corpus/sql/ and fuzz/sql.dict
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

HERE = Path(__file__).parent
REPOSITORY = HERE.parent
SEED_BYTES_MAX = 2_000


def statements() -> set[str]:
    """What the SQL test files run, one text each."""
    found = set()
    for file in sorted((REPOSITORY / "tests" / "sql").rglob("*.slt")):
        for record in re.split(r"\n\s*\n", file.read_text()):
            lines = [line for line in record.splitlines() if not line.startswith("#")]
            if lines and lines[0].startswith(("statement", "query")):
                text = "\n".join(lines[1:]).split("\n----")[0]
                if 0 < len(text.encode()) <= SEED_BYTES_MAX:
                    found.add(text)
    return found


def words() -> list[str]:
    """Names of functions, and words in capitals of the reference."""
    reference = REPOSITORY / "docs" / "reference"
    names = set(re.findall(r"`([a-z_0-9]+)`", (reference / "functions.md").read_text()))
    pages = "".join((reference / page).read_text() for page in ("statements.md", "types.md"))
    keywords = set(re.findall(r"\b[A-Z_]{2,}\b", pages))
    return (
        sorted(f"{name}(" for name in names)
        + sorted(keywords)
        + ["::", "->", "->>", ":=", "$$", "[]", "MAP {", "{'a': "]
    )


def main() -> None:
    corpus = HERE / "corpus" / "sql"
    corpus.mkdir(parents=True, exist_ok=True)
    for text in statements():
        (corpus / hashlib.sha256(text.encode()).hexdigest()[:16]).write_text(text)
    lines = ('"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"' for word in words())
    (HERE / "sql.dict").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
