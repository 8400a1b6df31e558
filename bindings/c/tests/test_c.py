"""The C library from outside: programs in C and C++ that are compiled and run against what is installed.

What takes long is in test_long.py, which `make test-c` runs as well.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from bindings.c.tests.nulls import program
from bindings.c.tests.programs import CRATE, HERE, ROOT, SANITIZED, STRICT, Build, needs, run

GUIDE = ROOT / "docs" / "c.md"


def header() -> str:
    return (CRATE / "include" / "inlay.h").read_text()


def exported() -> set[str]:
    """The functions of the header."""
    text = re.sub(r"/\*.*?\*/", "", header(), flags=re.S)
    return {*re.findall(r"^[\w ]+?[ *](\w+)\([^()]*\);$", text, re.M)} - {"typedef"}


def test_the_header_is_current() -> None:
    run([sys.executable, CRATE / "header.py", "--check"])


def test_each_function_says_what_it_is() -> None:
    text = header()
    for name in exported():
        before = text[: text.index(f"{name}(")].rstrip().rsplit("\n\n", 1)[-1]
        assert before.startswith("/*") and len(before) > 20, name


def defined(library: Path, *options: str) -> set[str]:
    listed = run(["nm", *options, "--defined-only", library]).stdout
    return {line.split()[-1] for line in listed.splitlines() if len(line.split()) == 3}


def test_only_prefixed_names_are_seen(prefix: Path) -> None:
    shared = defined(prefix / "lib" / "libinlay.so", "-D")
    assert shared == exported()
    static = defined(prefix / "lib" / "libinlay.a", "--extern-only")
    assert static == exported()
    dynamic = run(["readelf", "-d", prefix / "lib" / "libinlay.so"]).stdout
    assert "soname: [libinlay.so.0]" in dynamic
    needed = re.findall(r"Shared library: \[([^]]+)\]", dynamic)
    assert all(re.match(r"lib(c|m|gcc_s|pthread|dl|rt|util)\.so|ld-linux", name) for name in needed), needed


@pytest.mark.parametrize("source", ["families.c", "languages.c", "objects.cc"])
def test_programs_run(build: Build, source: str) -> None:
    run([build(HERE / source, "-O2")])


@pytest.mark.parametrize("source", ["families.c", "languages.c", "monetdblite.c"])
def test_programs_have_no_fault_that_sanitizers_see(build: Build, source: str) -> None:
    run([build(HERE / source, *SANITIZED)])


def test_what_monetdblite_programs_print(build: Build) -> None:
    printed = run([build(HERE / "monetdblite.c")]).stdout
    rows = ["Query result with 2 cols and 2 rows", "42, Hello", "NULL, World", "5 46.0 2024-2-29 34 3", "2 x y 1"]
    assert printed.splitlines() == rows


def test_nothing_and_wrong_numbers_are_errors(build: Build, tmp_path: Path) -> None:
    source = tmp_path / "nulls.c"
    source.write_text(program(header()))
    printed = run([build(source, *SANITIZED)]).stdout
    assert int(printed.split()[0]) >= len(exported()) - 3


def test_worlds(build: Build, tmp_path: Path) -> None:
    program = build(HERE / "worlds.c", "-O2")
    for name in ["order", "forks", "damage"]:
        run([program, name, tmp_path / f"{name}.inlay"])
    for name, times in [("budget", "1"), ("threads", "50"), ("leave", "1")]:
        run([program, name, times])


def test_interrupts_at_any_moment(build: Build) -> None:
    run([build(HERE / "moments.c", "-O2")])


@pytest.mark.parametrize("source", ["streams.c", "adbc.c"])
def test_streams_and_their_errors_are_released_once(build: Build, source: str) -> None:
    run([build(HERE / source, *SANITIZED), "100"])


def test_loaded_again_and_again(build: Build, prefix: Path, tmp_path: Path) -> None:
    program = build(HERE / "loaded.c", "-std=gnu11", "-Wno-pedantic", "-Wl,--as-needed")
    run([program, prefix / "lib/libinlay.so", tmp_path / "a.inlay"])


@pytest.mark.parametrize("source", ["families.c", "languages.c"])
def test_static_library_needs_nothing_of_ours(build: Build, source: str) -> None:
    built = build(HERE / source, "-O2", static=True)
    run([built], env={})
    assert "inlay" not in run(["ldd", built]).stdout


def test_static_library_stays_apart_from_others(build: Build, tmp_path: Path) -> None:
    """A program with functions of its own that have the names of libraries that are inside."""
    names = [
        "ZSTD_compress",
        "ZSTD_decompress",
        "LZ4_compress_default",
        "inflate",
        "deflate",
        "crc32",
        "mbedtls_sha256",
    ]
    own = "\n".join(f"int {name}(void);\nint {name}(void) {{ abort(); }}" for name in names)
    source = tmp_path / "apart.c"
    source.write_text(
        '#include "check.h"\n'
        + own
        + """
int main(void) {
  OPEN();
  OK(inlay_execute(connection,
                   "COPY (SELECT range AS a, 'x' || range AS b FROM range(10000)) TO 'PATH' "
                   "(FORMAT parquet, COMPRESSION zstd)",
                   NULL, &error));
  CHECK(number(connection, "SELECT sum(a) FROM 'PATH'") == 49995000);
  CLOSE();
  return 0;
}
""".replace("PATH", str(tmp_path / "a.parquet"))
    )
    run([build(source, static=True)])


def test_headers_are_c_and_cpp_of_all_years(prefix: Path, tmp_path: Path) -> None:
    for file in ["inlay.h", "monetdb.h"]:
        for compiler, versions in [("cc", ["c99", "c11", "c17"]), ("c++", ["c++11", "c++17", "c++20"])]:
            for version in versions:
                source = tmp_path / ("a.c" if compiler == "cc" else "a.cc")
                source.write_text(f'#include "{file}"\n#include "{file}"\n')
                run([compiler, f"-std={version}", *STRICT, f"-I{prefix}/include", "-fsyntax-only", source])


def programs() -> list[tuple[str, str]]:
    """The programs of the guide: language and text."""
    if not GUIDE.exists():
        return []
    blocks = re.findall(r"^```(c|cpp)\n(.*?)^```", GUIDE.read_text(), re.M | re.S)
    return [(language, text) for language, text in blocks if "int main(" in text]


@pytest.mark.parametrize("number", range(len(programs())))
def test_programs_of_the_guide_run(build: Build, number: int, tmp_path: Path) -> None:
    language, text = programs()[number]
    source = tmp_path / f"guide{number}.{'c' if language == 'c' else 'cc'}"
    source.write_text(text)
    printed = run([build(source, *SANITIZED)], cwd=tmp_path).stdout
    said = re.findall(r"// prints (.+)|/\* prints (.+?) \*/", text)
    for line in ("".join(found) for found in said):
        assert line in printed.splitlines()


@needs("cmake")
def test_cmake_finds_it(prefix: Path, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.10)\nproject(a C)\nfind_package(inlay 0.1 REQUIRED)\n"
        f"add_executable(a {HERE / 'monetdblite.c'})\ntarget_link_libraries(a inlay::inlay)\n"
        f"add_executable(b {HERE / 'monetdblite.c'})\ntarget_link_libraries(b inlay::static)\n"
    )
    run(["cmake", "-S", tmp_path, "-B", tmp_path / "out", f"-DCMAKE_PREFIX_PATH={prefix}"])
    run(["cmake", "--build", tmp_path / "out"])
    for name in "ab":
        run([tmp_path / "out" / name])


def test_the_driver_is_there(prefix: Path) -> None:
    manager = pytest.importorskip("adbc_driver_manager.dbapi")
    library = str(prefix / "lib" / "libinlay.so.0")
    for options in [{"entrypoint": "inlay_adbc_init"}, {"entrypoint": "AdbcDriverInit"}]:
        with manager.connect(driver=library, **options) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT 42 AS a")
            assert cursor.fetchone() == (42,)
            with pytest.raises(Exception, match="something"):
                cursor.execute("something invalid")
    manifest = (prefix / "etc/adbc/drivers/inlay.toml").read_text()
    assert library in manifest and "inlay_adbc_init" in manifest


def test_two_copies_in_one_process(prefix: Path, tmp_path: Path) -> None:
    """Two files of the library by dlopen: each has its own databases, and says its own version."""
    copies = [tmp_path / f"libinlay-{number}.so" for number in range(2)]
    for copy in copies:
        shutil.copy(prefix / "lib" / "libinlay.so", copy)
    code = f"""
import ctypes
for path in {[str(copy) for copy in copies]}:
    library = ctypes.CDLL(path)
    library.inlay_version.restype = ctypes.c_char_p
    database = ctypes.c_void_p()
    assert library.inlay_open(path.encode() + b".inlay", None, ctypes.byref(database), None) == 0
    print(library.inlay_version().decode())
"""
    printed = run([sys.executable, "-c", code]).stdout.split()
    assert len(printed) == 2 and printed[0] == printed[1]
