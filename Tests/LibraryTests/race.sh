#!/bin/sh
# [RLC-RACE-1] ThreadSanitizer reports nothing of a host whose library is not compiled with it, in both forms of the library.
# Environment: VERSION, SONAME.
set -eu
base=$PWD/build/library/race
rm -rf "$base" && mkdir -p "$base"
fail() {
    echo "FAIL RLC-RACE-1: $*"
    exit 1
}
export TSAN_OPTIONS=halt_on_error=0:exitcode=66
gcc -std=c11 -O1 -g -fsanitize=thread -Iinclude -ISources/CRunLoop/include -c Tests/LibraryTests/race_host.c -o "$base/host.o" 2>"$base/log" &&
    gcc -fsanitize=thread "$base/host.o" build/core/libcrunloop.a -pthread -o "$base/static" 2>>"$base/log" ||
    { echo "skipped 1: ThreadSanitizer and the library: gcc has none here"; exit 0; }
cp "build/core/libcrunloop.so.$VERSION" "$base/$SONAME"
gcc -fsanitize=thread "$base/host.o" "$base/$SONAME" -Wl,-rpath,"$base" -pthread -o "$base/shared"
for host in static shared; do
    timeout 120 "$base/$host" >"$base/said" 2>"$base/log" || { head -n 40 "$base/log"; fail "the $host host ends with $?"; }
    [ "$(cat "$base/said")" = "1000 1 2 1" ] || fail "the $host host says '$(cat "$base/said")'"
    status=0
    timeout 120 "$base/$host" race >/dev/null 2>"$base/log" || status=$?
    [ "$status" = 66 ] && grep -q "data race" "$base/log" || fail "a race of the $host host's own is not found"
done
echo "ok   RLC-RACE-1: ThreadSanitizer reports nothing of hosts, and finds their own races"
