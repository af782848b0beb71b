#!/bin/sh
# The programs of Examples/c-embed from an installed tree: the daemon, which answers and ends by a signal, and the GLib program.
# Environment: PKG_CONFIG_PATH. Arguments: a folder for the programs, the folder of the installed library.
set -eu
scratch=$1 library=$2

build() { # NAME PACKAGE...
    name=$1
    shift
    # shellcheck disable=SC2046
    gcc -std=c11 -Wall -Wextra -Werror -O2 "Examples/c-embed/$name.c" $(pkg-config --cflags --libs "$@") -pthread \
        "-Wl,-rpath,$library" -o "$scratch/$name" || { echo "FAIL Examples/c-embed/$name.c does not build"; exit 1; }
}

build daemon crunloop
mkfifo "$scratch/said"
timeout 20 "$scratch/daemon" "$scratch/socket" >"$scratch/said" &
daemon=$!
exec 3<"$scratch/said"
read -r line <&3
[ "$line" = ready ] || { echo "FAIL the daemon says '$line'"; exit 1; }
for answer in 1 2 3; do
    [ "$(timeout 10 "$scratch/daemon" "$scratch/socket" ask)" = "answer $answer" ] || { echo "FAIL answer $answer"; exit 1; }
done
kill -TERM "$daemon"
read -r line <&3
wait "$daemon" && status=0 || status=$?
[ "$line" = "served 3" ] && [ ! -e "$scratch/socket" ] || { echo "FAIL the daemon ends with '$line', status $status"; exit 1; }
echo "ok   the daemon answers, and ends by a signal"

if ! pkg-config --exists glib-2.0; then
    echo "skipped 1: the GLib program: no glib-2.0 here"
    exit 0
fi
build glib crunloop glib-2.0
timeout 10 "$scratch/glib" >"$scratch/glib.out" && [ "$(grep -c . "$scratch/glib.out")" = 8 ] ||
    { cat "$scratch/glib.out"; echo "FAIL the GLib program"; exit 1; }
echo "ok   a GLib program with the loop inside"
