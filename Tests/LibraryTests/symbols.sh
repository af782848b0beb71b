#!/bin/sh
# What the shared library shows: what the map lists, and the headers declare; and its name. Environment: VERSION, SONAME.
set -eu
library=build/core/libcrunloop.so.$VERSION
map=packaging/libcrunloop.map
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

same() { # WHAT FILE FILE
    sort -o "$2" "$2"
    sort -o "$3" "$3"
    diff -u "$2" "$3" >"$scratch/difference" && [ -s "$2" ] || { cat "$scratch/difference"; echo "FAIL $1"; exit 1; }
    echo "ok   $1: $(wc -l <"$2")"
}

awk '/^[A-Z][A-Z_0-9.]* \{/ { node = $1 } /^ +rlc_[a-z0-9_]+;$/ { sub(/;/, ""); print $1 "@@" node }' "$map" >"$scratch/listed"
nm -D --defined-only --with-symbol-versions "$library" | awk '$2 != "A" { print $3 }' >"$scratch/exported"
same "RLC-LIB-1: the library exports what its map lists" "$scratch/listed" "$scratch/exported"

sed 's/@@.*//' "$scratch/listed" >"$scratch/names"
sed -n 's/^RLC_API [^(;]*\b\(rlc_[a-z0-9_]*\)\( __attribute__\)\{0,1\}[(;].*/\1/p' include/crunloop/*.h >"$scratch/declared"
same "RLC-LIB-1: the map lists what the headers declare" "$scratch/declared" "$scratch/names"

readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]$/\1/p' >"$scratch/soname"
[ "$(cat "$scratch/soname")" = "$SONAME" ] || { echo "FAIL the library is called '$(cat "$scratch/soname")', not $SONAME"; exit 1; }
readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p' >"$scratch/needed"
[ "$(cat "$scratch/needed")" = libc.so.6 ] || { echo "FAIL the library needs $(cat "$scratch/needed")"; exit 1; }
echo "ok   RLC-LIB-2: the library is $SONAME and needs nothing but libc"

# The number of the build that is usual here; another machine's instructions, and other flags, have other sizes.
limit=98304
if [ "$(gcc -dumpmachine)" = x86_64-linux-gnu ]; then
    strip --strip-unneeded -o "$scratch/stripped" "$library"
    size=$(wc -c <"$scratch/stripped")
    [ "$size" -le "$limit" ] || { echo "FAIL RLC-LIB-8: the library has $size bytes, stripped, more than $limit"; exit 1; }
    echo "ok   RLC-LIB-8: the library has $size bytes, stripped"
else
    echo "skipped 1: the size of the library: the limit is that of x86_64"
fi
