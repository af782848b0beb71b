#!/bin/sh
# What the shared library shows: what the installed headers declare, and nothing of the kit's parts; and its name.
# Environment: VERSION, SONAME.
set -eu
. Tests/LibraryTests/exports.sh
library=build/core/libcrunloop.so.$VERSION
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

headers='include/crunloop/*.h Sources/CRunLoop/include/crunloop/*.h'
# shellcheck disable=SC2086
declared RLC_API $headers | sed 's/$/@@CRUNLOOP_0.1/' >"$scratch/declared" # all of the first version
[ "$(cat $headers | grep -c '^RLC_API')" = "$(wc -l <"$scratch/declared")" ] ||
    { echo "FAIL RLC-LIB-1: a declaration that this program cannot read"; exit 1; }
exported "$library" >"$scratch/exported"
diff -u "$scratch/declared" "$scratch/exported" || { echo "FAIL RLC-LIB-1: the library exports other names than the headers declare"; exit 1; }
echo "ok   RLC-LIB-1: the library exports the $(wc -l <"$scratch/exported") names that the headers declare"
! readelf -W --dyn-syms "$library" | grep -q ' TLS  *GLOBAL' || { echo "FAIL RLC-LIB-1: the library exports a word of a thread"; exit 1; }

readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]$/\1/p' >"$scratch/soname"
[ "$(cat "$scratch/soname")" = "$SONAME" ] || { echo "FAIL the library is called '$(cat "$scratch/soname")', not $SONAME"; exit 1; }
readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p' >"$scratch/needed"
[ "$(cat "$scratch/needed")" = libc.so.6 ] || { echo "FAIL the library needs $(cat "$scratch/needed")"; exit 1; }
echo "ok   RLC-LIB-2: the library is $SONAME and needs nothing but libc"

# The number of the build that is usual here; another machine's instructions, and other flags, have other sizes.
limit=73728
if [ "$(gcc -dumpmachine)" = x86_64-linux-gnu ]; then
    strip --strip-unneeded -o "$scratch/stripped" "$library"
    size=$(wc -c <"$scratch/stripped")
    [ "$size" -le "$limit" ] || { echo "FAIL RLC-LIB-8: the library has $size bytes, stripped, more than $limit"; exit 1; }
    echo "ok   RLC-LIB-8: the library has $size bytes, stripped"
else
    echo "skipped 1: the size of the library: the limit is that of x86_64"
fi
