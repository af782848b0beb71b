#!/bin/sh
# make install-tool and make uninstall-tool: the command, which runs from there, and its page.
set -eu
base=$PWD/build/tool
rm -rf "$base"
mkdir -p "$base"
fail() {
    cat "$base/log"
    echo "FAIL $*"
    exit 1
}
tool() { # GOAL
    make --no-print-directory "$1" DESTDIR="$base/a stage" PREFIX=/usr >"$base/log" 2>&1 || fail "RLC-LIB-10: make $1"
}
found() {
    (cd "$base/a stage" && find . ! -type d | sort | tr '\n' ' ')
}
tool install-tool
[ "$(found)" = "./usr/bin/runloop ./usr/share/man/man1/runloop.1 " ] || fail "RLC-LIB-10: other files than expected: $(found)"
timeout 10 "$base/a stage/usr/bin/runloop" scenario --virtual Tests/ConformanceTests/Corpus/timer-repeating.rl >"$base/log" 2>&1 ||
    fail "RLC-LIB-10: the installed command does not run a scenario"
tool uninstall-tool
[ -z "$(found)" ] || fail "RLC-LIB-10: make uninstall-tool leaves $(found)"
echo "ok   RLC-LIB-10: the command and runloop(1) are installed and taken away"
