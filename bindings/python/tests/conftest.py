"""A connection of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import inlay


@pytest.fixture
def con() -> Iterator[inlay.Connection]:
    with inlay.connect() as connection:
        yield connection
