#!/bin/sh
# Compiles ADBC's validation suite and its driver manager with validation.cc, and runs them: validation.sh ARROW-ADBC LIBRARY [ARGS]
#
# ARROW-ADBC is a checkout of apache/arrow-adbc. Needs googletest and a compiler of C++20.
set -eu
adbc=$1 library=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
include="-I$adbc/c -I$adbc/c/include -I$adbc/c/driver -I$adbc/c/vendor -I$adbc/c/vendor/nanoarrow -I$adbc/c/vendor/portable-snippets/include"
# Headers are found as <nanoarrow/nanoarrow.h> and <toml++/toml.hpp>.
compile() {
    # shellcheck disable=SC2086
    "$@" $include -O0 -w -c
}
cd "$work"
compile "${CC:-cc}" "$adbc/c/driver/common/utils.c" "$adbc/c/vendor/nanoarrow/nanoarrow.c" &
compile "${CXX:-c++}" -std=c++20 "$adbc"/c/validation/adbc_validation_[su]*.cc "$here/validation.cc" &
compile "${CXX:-c++}" -std=c++20 "$adbc"/c/validation/adbc_validation.cc "$adbc"/c/validation/adbc_validation_[cd]*.cc \
    "$adbc/c/driver_manager/adbc_driver_manager.cc" "$adbc/c/driver_manager/adbc_driver_manager_api.cc" \
    "$adbc/c/driver_manager/adbc_driver_manager_driver_loading.cc" "$adbc/c/driver_manager/adbc_driver_manager_profiles.cc"
wait
ls; "${CXX:-c++}" ./*.o -o validation -lgtest_main -lgtest -lgmock -ldl -lpthread
INLAY_LIBRARY=$library ./validation "$@"
