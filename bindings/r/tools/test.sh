#!/bin/sh
# Installs the package into a library of its own and runs its tests: test.sh PREFIX LIBRARY [FILTER]
#
# PREFIX has the C library. Where R, or a package that the tests need, is missing, it says so and is content. INLAY_R_LONG=1 also
# runs what takes minutes: DBI's own suite, and garbage collections at each allocation.
set -eu
prefix=$1 library=$2 filter=${3:-}
here=$(cd "$(dirname "$0")/.." && pwd)
if ! command -v Rscript > /dev/null; then
    echo "skipped: tests of the R package, as there is no Rscript"
    exit 0
fi
missing=$(Rscript --vanilla -e 'for (it in c("DBI", "bit64", "testthat", "withr")) if (!nzchar(system.file(package = it))) cat(it, "")')
if [ -n "$missing" ]; then
    echo "skipped: tests of the R package, as R has no $missing"
    exit 0
fi
mkdir -p "$library"
log=$library/install.log
if ! INLAY_PREFIX=$prefix R CMD INSTALL --preclean --clean --no-test-load --library="$library" "$here" > "$log" 2>&1; then
    cat "$log" >&2
    exit 1
fi
cd "$here/tests/testthat"
R_LIBS=$library${R_LIBS:+:$R_LIBS} Rscript --vanilla -e '
filter <- commandArgs(TRUE)
testthat::test_dir(".", package = "inlay", load_package = "installed", reporter = "check", filter = if (length(filter) > 0 && nzchar(filter)) filter,
                   env = new.env(parent = asNamespace("inlay")))' "$filter"
