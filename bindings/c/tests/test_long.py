"""The C library as test_c.py has it, for longer and in more ways: other compilers, valgrind, many rounds.

INLAY_C_ROUNDS says for how many runs of a statement memory is looked at; reports of other libraries are about 1000000.
"""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from bindings.c.tests.programs import HERE, SANITIZED, Build, needs, run

ROUNDS = os.environ.get("INLAY_C_ROUNDS", "50000")
VALGRIND = ["valgrind", "-q", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite"]


@needs("valgrind")
@pytest.mark.parametrize("source", ["families.c", "languages.c", "monetdblite.c", "streams.c", "adbc.c"])
def test_programs_have_no_fault_that_valgrind_sees(build: Build, source: str) -> None:
    run([*VALGRIND, build(HERE / source, "-O1"), *(["10"] if source in ("streams.c", "adbc.c") else [])])


@pytest.mark.parametrize(
    ("name", "argument"), [("memory", ROUNDS), ("threads", "1000"), ("interrupts", "100"), ("leave", "1")]
)
def test_worlds(build: Build, name: str, argument: str) -> None:
    """Each as often as it takes for a rare order of things to come."""
    program = build(HERE / "worlds.c", "-O2")
    for _ in range(10 if name == "leave" else 1):
        run([program, name, argument], timeout=None)


@pytest.mark.parametrize("source", ["streams.c", "adbc.c"])
def test_many_streams_leave_nothing_behind(build: Build, source: str) -> None:
    run([build(HERE / source, *SANITIZED), "10000"], timeout=None)


MODES = [
    ["-O0"],
    ["-O3"],
    ["-O0", "-D_GLIBCXX_USE_CXX11_ABI=0"],
    ["-O2", "-D_GLIBCXX_USE_CXX11_ABI=1", "-D_GLIBCXX_DEBUG"],
    ["-O2", "-fno-rtti"],
    ["-O2", "-std=c++20"],
    ["-O1", "-stdlib=libc++"],
    SANITIZED,
]


def has_libcxx(compiler: str) -> bool:
    command = [compiler, "-stdlib=libc++", "-x", "c++", "-fsyntax-only", "-"]
    done = subprocess.run(command, input="#include <vector>\n", text=True, capture_output=True, check=False)
    return done.returncode == 0


@pytest.mark.parametrize("options", MODES, ids=" ".join)
@pytest.mark.parametrize("compiler", ["c++", "clang++"])
def test_classes_go_with_any_mode_of_building(build: Build, compiler: str, options: list[str]) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"not installed: {compiler}")
    if "-stdlib=libc++" in options and not has_libcxx(compiler):
        pytest.skip("not installed: libc++")
    run([build(HERE / "objects.cc", *options, compiler=compiler)])
