"""The library, built and installed in a folder of its own, and programs compiled against it."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from bindings.c.tests.programs import HERE, ROOT, SANITIZED, STRICT, Build, run


@pytest.fixture(scope="session")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the library is installed. INLAY_C_PREFIX says where it is already."""
    if given := os.environ.get("INLAY_C_PREFIX"):
        return Path(given)
    folder = tmp_path_factory.mktemp("prefix")
    profile = os.environ.get("PROFILE", "work")
    run(["make", "install", f"PREFIX={folder}", f"PROFILE={profile}"], cwd=ROOT, timeout=None)
    return folder


@functools.cache
def sanitizes(compiler: str) -> bool:
    """Whether programs with sanitizers can be linked here."""
    command = [compiler, *SANITIZED, "-x", "c", "-", "-o", os.devnull]
    done = subprocess.run(command, input="int main(void) { return 0; }", text=True, capture_output=True, check=False)
    return done.returncode == 0


@pytest.fixture(scope="session")
def build(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compiles a program, as C11 or C++17, with all warnings as errors."""
    folder = tmp_path_factory.mktemp("programs")

    def compiled(source: Path, *options: str, compiler: str | None = None, static: bool = False) -> Path:
        is_c = source.suffix == ".c"
        own = compiler or ("cc" if is_c else "c++")
        for tool in (own, "pkg-config"):
            if shutil.which(tool) is None:
                pytest.skip(f"not installed: {tool}")
        if SANITIZED[1] in options and not sanitizes(own):
            pytest.skip(f"not installed: sanitizers of {own}")
        program = folder / f"{source.stem}-{len(list(folder.iterdir()))}"
        module = "inlay-static" if static else "inlay"
        search = {**os.environ, "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
        flags = run(["pkg-config", *(["--static"] if static else []), "--cflags", "--libs", module], env=search)
        run([
            own,
            "-std=c11" if is_c else "-std=c++17",
            "-g", *STRICT, *options, f"-I{HERE}", source, "-o", program,
            *flags.stdout.split(), *([] if static else [f"-Wl,-rpath,{prefix / 'lib'}"]), "-lpthread", "-lm",
        ])  # fmt: skip
        return program

    return compiled
