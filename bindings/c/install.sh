#!/bin/sh
# Installs the library that cargo built: install.sh FOLDER PREFIX VERSION
#
# FOLDER has libinlay_c.so and libinlay_c.a. DESTDIR, if it is set, goes before all paths, as packagers have it.
set -eu
built=$1 prefix=$2 version=$3
here=$(cd "$(dirname "$0")" && pwd)
lib=${DESTDIR:-}$prefix/lib include=${DESTDIR:-}$prefix/include manifests=${DESTDIR:-}$prefix/etc/adbc/drivers
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$lib/pkgconfig" "$lib/cmake/inlay" "$include" "$manifests"

strip --strip-unneeded -o "$work/libinlay.so" "$built/libinlay_c.so"
install -m 755 "$work/libinlay.so" "$lib/libinlay.so.$version"
ln -sf "libinlay.so.$version" "$lib/libinlay.so.0"
ln -sf libinlay.so.0 "$lib/libinlay.so"

# One object of all, in which only the names of the interface are left for others: what the program links beside, as another zstd,
# stays apart.
${LD:-ld} -r --whole-archive "$built/libinlay_c.a" -o "$work/all.o"
# Bitcode, which the standard library has, is nothing that an archiver's plugin of another LLVM could read.
${OBJCOPY:-objcopy} --strip-debug --remove-section=.llvmbc --remove-section=.llvmcmd --wildcard --keep-global-symbol='inlay_*' --keep-global-symbol=AdbcDriverInit "$work/all.o" \
    "$work/inlay.o"
rm -f "$work/libinlay.a"
${AR:-ar} rcs "$work/libinlay.a" "$work/inlay.o"
install -m 644 "$work/libinlay.a" "$lib/libinlay.a"

install -m 644 "$here/include/inlay.h" "$here/include/inlay.hpp" "$here/include/monetdb.h" "$include"
fill() {
    sed -e "s|@prefix@|$prefix|g" -e "s|@version@|$version|g" "$here/cmake/$1" > "$work/filled"
    install -m 644 "$work/filled" "$2"
}
fill inlay.pc.in "$lib/pkgconfig/inlay.pc"
fill inlay-static.pc.in "$lib/pkgconfig/inlay-static.pc"
fill inlay-config.cmake.in "$lib/cmake/inlay/inlay-config.cmake"
fill inlay-config-version.cmake.in "$lib/cmake/inlay/inlay-config-version.cmake"
fill inlay.toml.in "$manifests/inlay.toml"
