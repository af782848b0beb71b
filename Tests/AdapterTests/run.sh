#!/bin/sh
# The adapters in their hosts: each header alone as C11 and C++17, the functions that it calls, and its cases. A host that is not here is
# skipped.
# Environment: CLANG, FLAGS (the tests' flags), OBJECTS, LDFLAGS, BUILD, SECONDS_EACH, SWIFT_LIB (where libdispatch
# is, or empty), ADAPTERS (only the cases of these hosts: glib uv qt gtk4 ...; empty for everything).
set -eu
. Tests/LibraryTests/exports.sh
here=Tests/AdapterTests
mkdir -p "$BUILD"
declared RLC_API include/crunloop/*.h Sources/CRunLoop/include/crunloop/*.h >"$BUILD/public"

flags_of() { # HOST: what its library needs, or fails: there is none
    case $1 in
        epoll | dispatch_guest | model_guest) ;;
        glib | glib_guest | glib_model) pkg-config --cflags --libs glib-2.0 2>/dev/null ;;
        uv) pkg-config --cflags --libs libuv 2>/dev/null ;;
        ev) [ -e /usr/include/ev.h ] && echo -lev ;;
        sd_event) pkg-config --cflags --libs libsystemd 2>/dev/null ;;
        sdl) pkg-config --cflags --libs sdl2 2>/dev/null ;;
        qt) pkg-config --cflags --libs Qt5Gui 2>/dev/null ;;
        *) return 1 ;;
    esac
}

is_wanted() { # HOST
    case " ${ADAPTERS:-$1} " in *" $1 "*) ;; *) return 1 ;; esac
}

alone() { # HOST COMPILER LANGUAGE STANDARD
    [ -z "${ADAPTERS:-}" ] || return 0
    command -v "$2" >/dev/null 2>&1 || { echo "skipped 1: the adapter of $1 by $2: there is none"; return 0; }
    printf '#include <crunloop/adapters/%s.h>\n#include <crunloop/adapters/%s.h>\n' "$1" "$1" >"$BUILD/alone.$3"
    # By gcc all of its functions are compiled: what they call of the core, libcrunloop.so exports.
    case $2 in gcc | g++) goal="-fkeep-inline-functions -fkeep-static-functions -c -o $BUILD/alone.o" ;; *) goal=-fsyntax-only ;; esac
    # shellcheck disable=SC2046,SC2086
    "$2" -std="$4" -D_GNU_SOURCE -Wall -Wextra -Werror $goal -fPIC -Iinclude -ISources/CRunLoop/include $(flags_of "$1" | sed 's/\(^\| \)-l[^ ]*//g') \
        "$BUILD/alone.$3" || { echo "FAIL the adapter of $1 alone, by $2 -std=$4"; exit 1; }
    [ "$goal" != -fsyntax-only ] || return 0
    nm -u "$BUILD/alone.o" | sed -n 's/^ *U \(rlc_[a-z0-9_]*\)$/\1/p' | LC_ALL=C sort >"$BUILD/called"
    [ -s "$BUILD/called" ] && [ -z "$(LC_ALL=C comm -23 "$BUILD/called" "$BUILD/public")" ] ||
        { cat "$BUILD/called"; echo "FAIL the adapter of $1 calls what the library does not export, or nothing"; exit 1; }
}

# Weak references do not keep a library: it is named, needed or not.
if [ -n "${SWIFT_LIB:-}" ] && [ -e "$SWIFT_LIB/libdispatch.so" ]; then
    LDFLAGS="$LDFLAGS -L$SWIFT_LIB -Wl,--no-as-needed -ldispatch -lBlocksRuntime -Wl,-rpath,$SWIFT_LIB"
else
    echo "skipped 7: the main dispatch queue in the hosts: no libdispatch here"
fi
alone dispatch_guest gcc c c11
alone dispatch_guest g++ cpp c++17
alone dispatch_guest "$CLANG" c c11
alone dispatch_guest "$CLANG++" cpp c++17

for host in epoll model_guest glib glib_guest glib_model uv ev sd_event sdl; do
    is_wanted $host || continue
    flags=$(flags_of $host) || { echo "skipped 1: the adapter of $host: no $host here"; continue; }
    alone $host gcc c c11
    alone $host g++ cpp c++17
    alone $host "$CLANG" c c11
    alone $host "$CLANG++" cpp c++17
    # shellcheck disable=SC2086
    gcc $FLAGS $here/${host}_test.c $OBJECTS $flags $LDFLAGS -o "$BUILD/$host"
    timeout -k 5 "$SECONDS_EACH" "$BUILD/$host" </dev/null || { echo "FAIL the adapter of $host: status $?"; exit 1; }
    echo "ok   the adapter of $host"
done

# What a toolkit keeps for its user.
runtime=$PWD/$BUILD/runtime
mkdir -p -m 700 "$runtime"

# GTK has glib's adapter, and a window on a screen that nobody sees.
display=
if { is_wanted gtk+-3.0 || is_wanted gtk4; } && command -v Xvfb >/dev/null 2>&1; then
    rm -f "$BUILD/display"
    mkfifo "$BUILD/display"
    # It would begin anew when its last client goes, and lose one that comes meanwhile.
    Xvfb -noreset -displayfd 3 -screen 0 640x480x24 -nolisten tcp 3>"$BUILD/display" >/dev/null 2>&1 &
    screen=$!
    trap 'kill $screen 2>/dev/null || :' EXIT
    trap 'exit 1' INT TERM
    read -r display <"$BUILD/display" || echo "Xvfb has not started"
fi
for toolkit in gtk+-3.0 gtk4; do
    is_wanted $toolkit || continue
    flags=$(pkg-config --cflags --libs $toolkit 2>/dev/null) && [ -n "$display" ] || { echo "skipped 1: the adapter of glib in $toolkit: no $toolkit, or no Xvfb"; continue; }
    # shellcheck disable=SC2046,SC2086
    gcc $FLAGS $here/gtk_test.c $OBJECTS $(echo " $flags" | sed 's/ -I/ -isystem /g') $LDFLAGS -o "$BUILD/$toolkit"
    # What GTK keeps until the end is no leak of the adapter's.
    env DISPLAY=":$display" GDK_BACKEND=x11 GSK_RENDERER=cairo GTK_A11Y=none NO_AT_BRIDGE=1 GSETTINGS_BACKEND=memory XDG_RUNTIME_DIR="$runtime" \
        ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" timeout -k 5 "$SECONDS_EACH" "$BUILD/$toolkit" </dev/null ||
        { echo "FAIL the adapter of glib in $toolkit: status $?"; exit 1; }
    echo "ok   the adapter of glib in $toolkit"
done

is_wanted qt || exit 0

# Qt is C++: its side of the cases is a file of its own. With both of its dispatchers: GLib's, which Debian's Qt takes, and its own.
if ! flags=$(flags_of qt); then
    echo "skipped 1: the adapter of qt: no qt here"
    exit 0
fi
alone qt g++ cpp c++17
alone qt "$CLANG++" cpp c++17
# shellcheck disable=SC2086
g++ $(echo "$FLAGS" | sed 's/-std=c11/-std=c++17/') -fPIC $flags -c $here/qt_host.cpp -o "$BUILD/qt_host.o"
# shellcheck disable=SC2086
gcc $FLAGS $here/qt_test.c "$BUILD/qt_host.o" $OBJECTS $flags $LDFLAGS -lstdc++ -o "$BUILD/qt"
# What Qt keeps until the end is no leak of the adapter's.
for dispatcher in GLib own; do
    [ $dispatcher = GLib ] && without='-u QT_NO_GLIB' || without=QT_NO_GLIB=1
    # shellcheck disable=SC2086
    env $without ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" XDG_RUNTIME_DIR="$runtime" timeout -k 5 "$SECONDS_EACH" \
        "$BUILD/qt" </dev/null || { echo "FAIL the adapter of qt, the dispatcher $dispatcher: status $?"; exit 1; }
    echo "ok   the adapter of qt, the dispatcher $dispatcher"
done
