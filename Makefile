# Everything a developer types. Needs Rust (stable), Python 3.10 or newer and a C compiler; the rest is installed
# into .venv. Any target may be typed first: each builds what it needs, and nothing that is up to date.
#
#   make demo     TPC-H at scale 1: 22 queries, answers checked, chart written        INLAY_DEMO_SF=0.1 for a quick one
#   make test     unit tests of the crates, then everything that goes through Python, and the C library   PROFILE=release for what is published
#   make check    formatters, linters and type checkers; fast checks first
#
# While working (CONTRIBUTING.md has a table):
#   make quick    what changed since main: Clippy and tests of its crates, the SQL and Python files that touch it     SINCE=main
#   make sql      SQL files by a part of their path                                    FILE=window/leaders
#   make python   Python tests by a part of their path                                 FILE=test_values ARGS="-k decimal"
#   make setup    .venv with inlay and the development tools                           PROFILE=release for an optimised one
#   make c        the C library, built                                                 PROFILE=release for what is installed
#   make install  the C library, its headers and what finds them                       PREFIX=/usr/local PROFILE=release
#   make test-c   programs in C and C++ against it                                     ARGS="-k static"
#   make test-sqlite programs of SQLite's interface on libinlay_sqlite3.so
#   make r        the R package, installed                                             R_LIBRARY=~/R/library PROFILE=release
#   make test-r   the R package's tests, in a library of their own                     ARGS=vectors INLAY_R_LONG=1
#   make test-cluster queries on Sail, which is installed for it                         ARGS="-k refused"
#   make test-page the server's page in Chromium, where that is                          ARGS="-k chart"
#   make test-adbc ADBC's validation suite against it                                  ADBC=~/arrow-adbc
#   make shell    the shell, built and started                                         ARGS="trips.inlay"
#
# Long ones, each with the release build:
#   make check-deep  all tests, and all SQL files in all configurations, with checks of overflow, debug assertions and plans (checked build)
#   make miri     what Miri runs of the unsafe modules within minutes (nightly Rust with miri)
#   make crash    kills, power cuts, damage, isolation: all of it, and files beside DuckDB and SQLite; an hour
#   make fuzz-sql  random queries answered by Inlay and DuckDB and by Inlay in other ways     QUERIES=200000 ARGS="--seed 1"
#   make fuzz-changes random changes of tables by Inlay on a file and by DuckDB, constraints looked up  CASES=300 ARGS="--seed 1"
#   make fuzz-files damaged Parquet, CSV, JSON, Arrow and Excel files                          MINUTES=30
#   make fuzz-functions random queries with functions in Python, their answers and the memory        MINUTES=60
#   make fuzz-text SQL text of any shape, guided by coverage (cargo fuzz, nightly Rust)       MINUTES=60
#   make fuzz-protocol bytes of the client protocol, the same way                                MINUTES=60
#   make bench    Inlay beside its peers                     SUITE=tpch SF=1 ARGS="--only inlay,duckdb --queries 1,6"
#                 SUITE=everyday functions growth versions tpch tpch-file tpcds ssb groupjoin clickbench olap points scale cancel udf ssdbm export ingest latency voters

PYTHON ?= python3
# How Rust is compiled for tests and the package: work (incremental) or release (what is published, measured and tested in CI).
PROFILE ?= work
SINCE ?= main
FILE ?=
SUITE ?= tpch
SF ?= 1
QUERIES ?= 200000
CASES ?= 300
MINUTES ?= 60
ARGS ?=
PREFIX ?= /usr/local
# Where tests install the C library.
C_PREFIX := $(CURDIR)/target/c/$(PROFILE)
# Where the R package goes.
R_LIBRARY ?= $(CURDIR)/target/r/$(PROFILE)
# Python tests run in as many processes as there are cores, four at most: some take a gigabyte.
JOBS ?= $(shell n=$$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN); echo $$((n > 4 ? 4 : n)))

VENV := .venv
BIN := $(VENV)/bin
TOOLS := $(VENV)/stamp-tools
MATURIN := $(VENV)/stamp-maturin
# The package in .venv is of one profile at a time.
RELEASE := $(VENV)/stamp-inlay-release
WORK := $(VENV)/stamp-inlay-work
INLAY := $(VENV)/stamp-inlay-$(PROFILE)
PEERS := $(VENV)/stamp-peers
CLUSTER := $(VENV)/stamp-cluster
WHEELS := target/wheels
WHEEL := $(WHEELS)/stamp
RUST_SOURCES := $(shell find crates cli bindings -type f \( -name '*.rs' -o -name '*.toml' \) \
	-not -path '*/target/*' -not -path '*/tests/*' -not -path 'bindings/c/*' -not -path 'bindings/sqlite/*' 2>/dev/null)
PYTHON_SOURCES := $(shell find bindings/python/python -type f \( -name '*.py' -o -name '*.pyi' -o -name 'py.typed' \))

.PHONY: setup demo shell test test-rust test-units test-alone test-it test-beside test-python test-cluster test-page test-c test-c-short test-sqlite test-adbc r test-r test-r-short quick sql python bench crash check check-python check-rust check-deep miri \
	build-tests fuzz-sql fuzz-changes fuzz-text fuzz-protocol fuzz-files fuzz-functions c install bench-c bench-protocol
.DELETE_ON_ERROR:

# Packages are fetched while the engine is compiled.
setup:
	$(MAKE) --no-print-directory --jobs 2 $(INLAY)

$(MATURIN): requirements-dev.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$(grep '^maturin' requirements-dev.txt)"
	touch $@

$(TOOLS): $(MATURIN)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@

$(WHEEL): $(MATURIN) Cargo.toml Cargo.lock $(RUST_SOURCES) $(PYTHON_SOURCES)
	rm -f $(WHEELS)/inlay-*.whl
	$(BIN)/maturin build --release --quiet --manifest-path bindings/python/Cargo.toml --out $(WHEELS)
	touch $@

$(RELEASE): $(WHEEL) $(TOOLS)
	rm -f $(WORK)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps $(WHEELS)/inlay-*.whl
	touch $@

# Python files are used where they lie: an edit of one needs no step at all.
$(WORK): $(TOOLS) Cargo.toml Cargo.lock bindings/python/pyproject.toml $(RUST_SOURCES)
	rm -f $(RELEASE)
	VIRTUAL_ENV="$$PWD/$(VENV)" $(BIN)/maturin develop --profile work --quiet \
		--manifest-path bindings/python/Cargo.toml
	touch $@

# A peer that cannot be installed here is left out, and the benchmark says so.
$(PEERS): requirements-bench.txt $(TOOLS)
	while read -r peer; do case "$$peer" in ''|'#'*) ;; *) \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$peer" || echo "skipped: $$peer" ;; \
	esac; done < requirements-bench.txt
	touch $@

# Sail, for tests of clusters (63 MB): `make test-cluster`; elsewhere they say that it is not there.
$(CLUSTER): requirements-cluster.txt $(TOOLS)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-cluster.txt || echo "skipped: clusters"
	touch $@

demo:
	$(MAKE) --no-print-directory setup PROFILE=release
	$(BIN)/python -m demo.demo

shell: setup
	$(BIN)/inlay $(ARGS)

# What measures a whole process works on one core; the package and the C library are built and tried on another.
test:
	$(MAKE) --no-print-directory test-units
	$(MAKE) --no-print-directory --jobs 2 --output-sync=target test-alone test-beside
	$(MAKE) --no-print-directory test-it
	$(MAKE) --no-print-directory test-python
	$(MAKE) --no-print-directory test-page

# All test programs, without running any.
build-tests:
	cargo test --profile $(PROFILE) --quiet --no-run

test-rust: test-units test-alone test-it

# What is near the code first: it fails within seconds.
test-units:
	cargo test --profile $(PROFILE) --quiet --lib --bins
	cargo test --profile $(PROFILE) --quiet --doc

test-alone:
	cargo test --profile $(PROFILE) --quiet --test alone

# All other test programs (`tidy` knows them all).
test-it:
	cargo test --profile $(PROFILE) --quiet --test it --test shell --test server --test corpus

test-beside:
	$(MAKE) --no-print-directory setup
	$(MAKE) --no-print-directory test-c-short
	$(MAKE) --no-print-directory test-sqlite
	$(MAKE) --no-print-directory test-r-short

test-python: setup
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile

test-cluster: setup $(CLUSTER)
	$(BIN)/python -m pytest -rs bindings/python/tests/test_cluster.py bindings/python/tests/test_cluster_functions.py tests/cluster $(ARGS)

# The server's page in Chromium. Needs Debian's chromium and the package playwright; says so where they are not.
test-page: setup
	! command -v chromium > /dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check playwright || true
	$(BIN)/python -m pytest -rs server/page/tests $(ARGS) || $(BIN)/python -m pytest -rs --last-failed server/page/tests $(ARGS)

quick: $(TOOLS)
	$(BIN)/python -m tests.quick --since $(SINCE) --profile $(PROFILE)

sql:
	INLAY_SLT=$(FILE) cargo test --profile $(PROFILE) --quiet -p inlay --test it slt::

python: setup
	$(BIN)/python -m pytest $(ARGS) $(shell $(PYTHON) tests/quick.py --find "$(FILE)")

c:
	cargo build --profile $(PROFILE) --quiet -p inlay-c

install: c
	bindings/c/install.sh target/$(PROFILE) $(PREFIX) $(shell cargo pkgid -p inlay-c | sed 's/.*[\#@]//')

test-c: $(TOOLS)
	$(MAKE) --no-print-directory install PREFIX=$(C_PREFIX)
	INLAY_C_PREFIX=$(C_PREFIX) $(BIN)/python -m pytest -n $(JOBS) bindings/c/tests $(ARGS)

# What each change has to pass.
test-c-short: $(TOOLS)
	$(MAKE) --no-print-directory install PREFIX=$(C_PREFIX)
	INLAY_C_PREFIX=$(C_PREFIX) $(BIN)/python -m pytest -n $(JOBS) bindings/c/tests/test_c.py $(ARGS)

# Programs that use SQLite's interface: Python's sqlite3, SQLite's shell, and one in C.
test-sqlite: $(TOOLS)
	cargo build --profile $(PROFILE) --quiet -p inlay-sqlite
	INLAY_SQLITE=$(CURDIR)/target/$(PROFILE)/libinlay_sqlite3.so $(BIN)/python -m pytest -n $(JOBS) bindings/sqlite/tests $(ARGS)

r:
	$(MAKE) --no-print-directory install PREFIX=$(C_PREFIX)
	mkdir -p $(R_LIBRARY)
	INLAY_PREFIX=$(C_PREFIX) R CMD INSTALL --preclean --clean --library=$(R_LIBRARY) bindings/r

test-r:
	$(MAKE) --no-print-directory install PREFIX=$(C_PREFIX)
	$(MAKE) --no-print-directory test-r-short

# With the C library that test-c-short has installed.
test-r-short:
	bindings/r/tools/test.sh $(C_PREFIX) $(CURDIR)/target/r/tests $(ARGS)

# ADBC's validation suite. Needs googletest. ADBC: a checkout of apache/arrow-adbc; ARGS="--gtest_filter=*Ingest*".
test-adbc:
	$(MAKE) --no-print-directory install PREFIX=$(C_PREFIX)
	bindings/c/tests/validation.sh $(ADBC) $(C_PREFIX)/lib/libinlay.so $(ARGS)

BENCH_C = cc -std=c11 -O2 -Itarget/c/release/include -Ltarget/c/release/lib -Wl,-rpath,$(CURDIR)/target/c/release/lib

# Needs SQLite's header and library. ARGS="7 /tmp": rounds, and a folder for the files; SF: the scale of the table that is scanned.
bench-c:
	$(MAKE) install PREFIX=$(CURDIR)/target/c/release PROFILE=release
	$(BENCH_C) bindings/c/bench/points.c -o target/c/points -linlay -lsqlite3
	$(BENCH_C) bindings/c/bench/scan.c -o target/c/scan -linlay
	target/c/points $(ARGS)
	target/c/scan $(SF)

# lineitem over loopback by the client protocol, beside a plain socket of CSV, and bytes by each compression.
bench-protocol:
	cargo run --release --quiet -p inlay-protocol --example protocol -- $(SF)

# Python's tools beside Clippy, which waits for one crate after the other.
check:
	$(MAKE) --jobs 2 --output-sync=target check-python check-rust

check-python: $(TOOLS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tests/features.py
	$(BIN)/python bindings/c/header.py --check
	$(BIN)/mypy
	MYPYPATH=bindings/python/python $(BIN)/mypy --package inlay

check-rust:
	cargo fmt --all --check
	cargo clippy --quiet --workspace --all-targets -- -D warnings
	cargo test --profile $(PROFILE) --quiet -p inlay --test it tidy::

# Rust only: Python goes through the same engine.
check-deep:
	cargo test --profile checked --quiet --lib --bins
	INLAY_SLT_CONFIGURATIONS=all cargo test --profile checked --quiet --test '*'

# Vectors, buffers, nested values and the Arrow C interface; codecs and keys of the radix tree; columns that are joined, and work lent to
# threads. Left out is what calls the system (pages, files) or C (zstd, in codec::bytes and codec::floats), instructions of the CPU, tests
# that wait for a time, and tests of many rows (codec::fsst, hash joins): Miri is a thousand times slower.
MIRI := RUST_BACKTRACE=0 MIRIFLAGS="-Zmiri-disable-isolation" cargo +nightly miri test --lib
MIRI_TYPES := arrow:: bit:: builder:: digits:: error:: hash:: host:: native:: nested:: pick:: simd:: view:: --skip bytes_of_any_pattern --skip slices_of_imported
MIRI_STORAGE := codec::bits codec::integers codec::packed index::key --skip random
MIRI_EXEC := concat:: every_task_runs_once workers_join_and_leave
miri:
	$(MIRI) -p inlay-types -- $(MIRI_TYPES)
	$(MIRI) -p inlay-storage -- $(MIRI_STORAGE)
	$(MIRI) -p inlay-exec -- $(MIRI_EXEC)

bench: $(RELEASE) $(PEERS)
	$(BIN)/python -m bench $(SUITE) --sf $(SF) $(ARGS)

# ARGS="--counts short --figures inserts,delete" is a quick look; only a complete run writes its page.
crash: $(RELEASE)
	$(BIN)/python -m bench reliability $(ARGS)

fuzz-sql: $(RELEASE)
	$(BIN)/python -m tests.fuzz --queries $(QUERIES) $(ARGS)

fuzz-changes: $(RELEASE)
	$(BIN)/python -m tests.fuzz.changes --cases $(CASES) $(ARGS)

fuzz-files: $(RELEASE)
	$(BIN)/python -m tests.fuzz.files --minutes $(MINUTES) $(ARGS)

fuzz-functions: $(RELEASE)
	$(BIN)/python -m tests.fuzz.functions --minutes $(MINUTES) $(ARGS)

# Crashes land in fuzz/artifacts; `cargo fuzz tmin` makes them small.
fuzz-text: $(TOOLS)
	$(BIN)/python fuzz/seeds.py
	cargo +nightly fuzz run sql -- -max_total_time=$$(($(MINUTES) * 60)) -dict=fuzz/sql.dict -max_len=4000 -timeout=20 \
		-rss_limit_mb=4096

# Bytes of the client protocol, read as frames and chunks.
fuzz-protocol: $(TOOLS)
	cargo +nightly fuzz run protocol -- -max_total_time=$$(($(MINUTES) * 60)) -max_len=4000 -timeout=20 -rss_limit_mb=2048
