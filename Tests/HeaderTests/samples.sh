#!/bin/sh
# Builds and runs the examples in C of the core's headers and of their page in the reference. Arguments: the core's objects.
set -eu
. Tests/HeaderTests/examples.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/examples"
for file in include/crunloop/*.h Sources/CRunLoop/include/crunloop/*.h docs/site/CRunLoop.docc/CRunLoop.md; do
    extract "$file" "$scratch/examples"
done
run_examples "$scratch/examples" 10 -Iinclude -ISources/CRunLoop/include "$@" || exit 1
check_judgement "$scratch/wrong" || exit 1
