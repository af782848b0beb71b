#!/bin/sh
# Builds and runs each program in a header's comment (@code{.c} to @endcode). Arguments: the core's objects.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
count=0
for header in include/crunloop/*.h Sources/CRunLoop/include/crunloop/*.h; do
    sed -n '/^ \* @code{\.c}$/,/^ \* @endcode$/p' "$header" | sed '/^ \* @/d; s/^ \* \{0,1\}//' >"$scratch/sample.c"
    [ -s "$scratch/sample.c" ] || continue
    gcc -std=c11 -Wall -Wextra -Wpedantic -Werror -Iinclude -ISources/CRunLoop/include "$scratch/sample.c" "$@" -pthread -o "$scratch/sample" ||
        { echo "header-test: the sample of $header does not compile"; exit 1; }
    timeout 10 "$scratch/sample" || { echo "header-test: the sample of $header ends with $?"; exit 1; }
    count=$((count + 1))
done
[ "$count" -gt 0 ] || { echo "header-test: no sample found"; exit 1; }
echo "header-test: $count samples"
