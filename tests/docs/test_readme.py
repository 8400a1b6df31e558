"""Python blocks run, those of a document in order as one session; links in the documents lead to files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("bench/**/*.md")})


def python_blocks(text: str) -> list[tuple[int, str]]:
    """Line number and text of each fenced Python block."""
    found = re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, block.start(1)), block.group(1)) for block in found]


DOCUMENTS_WITH_CODE = [
    ("README.md", 5),
    ("docs/arrays.md", 3),
    ("docs/files.md", 6),
    ("docs/functions.md", 5),
    ("docs/guide/machine-learning.md", 7),
    ("docs/olap.md", 2),
    ("docs/python.md", 5),
    ("docs/web.md", 3),
]


def test_the_page_on_clusters_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pysail")
    pytest.importorskip("pyspark")
    test_code_runs("docs/cluster.md", 6, tmp_path, monkeypatch)


@pytest.mark.parametrize(("document", "blocks_min"), DOCUMENTS_WITH_CODE)
def test_code_runs(document: str, blocks_min: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = python_blocks((ROOT / document).read_text())
    assert len(blocks) >= blocks_min
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for line, code in blocks:
        exec(compile("\n" * line + code, document, "exec", dont_inherit=True), namespace)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files(document: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", document.read_text())
    missing = [link for link in links if "://" not in link and not (document.parent / link).exists()]
    assert missing == []
