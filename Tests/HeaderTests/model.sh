#!/bin/sh
# [RLK-C-11] A host in C (Tests/CModel) calls each function that include/runloopkit declares.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
. Tests/LibraryTests/exports.sh
declared RLK_API include/runloopkit/*.h >"$scratch/declared"
[ "$(grep -c '^RLK_API' include/runloopkit/*.h | awk -F: '{ sum += $2 } END { print sum }')" = "$(wc -l <"$scratch/declared")" ] ||
    { echo "FAIL RLK-C-11: a declaration that this program cannot read"; exit 1; }
while read -r name; do
    grep -q "\b$name(" Tests/CModel/*.c || { echo "FAIL RLK-C-11: no test in C calls $name"; exit 1; }
done <"$scratch/declared"
for part in MAJOR MINOR PATCH; do
    of() { sed -n "s/^#define $1_VERSION_$part //p" "$2/version.h"; }
    [ "$(of RLK include/runloopkit)" = "$(of RLC include/crunloop)" ] || { echo "FAIL RLK-C-16: RLK_VERSION_$part is not RLC_VERSION_$part"; exit 1; }
done
echo "ok   RLK-C-16: the headers have one version"
echo "ok   RLK-C-11: $(wc -l <"$scratch/declared") functions of the model, each called by a test"
