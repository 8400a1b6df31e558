"""
Files under a password: AES-256-GCM in segments, with a key that scrypt makes of the password. Needs `cryptography`.

    magic (10) | salt (16) | prefix (7) | segments of up to 1 MiB, each with a tag of 16 bytes

A segment's nonce is the prefix, its number (4 bytes, big-endian) and 1 for the last one: segments that are missing, out
of order or changed are noticed (the STREAM construction; Hoang, Reyhanitabar, Rogaway, Vizar, CRYPTO 2015).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MAGIC = b"inlay-pw\x00\x01"
_SALT, _PREFIX, _TAG = 16, 7, 16
_SEGMENT = 1 << 20
#: Memory and time that one guess costs: 64 MiB, about 0.2 s.
_SCRYPT = {"n": 1 << 16, "r": 8, "p": 1, "maxmem": 1 << 27}


def is_sealed(path: Path) -> bool:
    """Say whether a file is one of these."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def check() -> None:
    """Fail where the package is missing, before anything is computed."""
    _aes(b"", b"")


def _aes(password: bytes, salt: bytes) -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as error:
        message = "encrypted input needs the package cryptography: pip install cryptography"
        raise ValueError(message) from error
    if not salt:
        return None
    return AESGCM(hashlib.scrypt(password, salt=salt, dklen=32, **_SCRYPT))


def _nonces(prefix: bytes, count: int) -> Iterator[bytes]:
    for number in range(count):
        yield prefix + number.to_bytes(4, "big") + bytes([number == count - 1])


def write(path: Path, data: bytes, password: str) -> None:
    """Write data that only the password opens; the file is for its owner alone."""
    salt, prefix = os.urandom(_SALT), os.urandom(_PREFIX)
    aes = _aes(password.encode(), salt)
    starts = range(0, max(len(data), 1), _SEGMENT)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(MAGIC + salt + prefix)
        for start, nonce in zip(starts, _nonces(prefix, len(starts)), strict=True):
            file.write(aes.encrypt(nonce, data[start : start + _SEGMENT], MAGIC))


def read(path: Path, password: str) -> bytes:
    """
    Read what the password opens.

    Raises ``ValueError`` for another password, and for a file that was changed or cut.
    """
    text = path.read_bytes()
    start = len(MAGIC) + _SALT + _PREFIX
    if not text.startswith(MAGIC) or len(text) < start + _TAG:
        raise ValueError(f"{path} is no encrypted input")
    salt, prefix = text[len(MAGIC) : len(MAGIC) + _SALT], text[start - _PREFIX : start]
    aes = _aes(password.encode(), salt)
    from cryptography.exceptions import InvalidTag

    starts = range(start, len(text), _SEGMENT + _TAG)
    try:
        return b"".join(
            aes.decrypt(nonce, text[at : at + _SEGMENT + _TAG], MAGIC)
            for at, nonce in zip(starts, _nonces(prefix, len(starts)), strict=True)
        )
    except InvalidTag as error:
        raise ValueError(f"{path}: the password is another one, or the file was changed") from error
