#!/bin/sh
# make install-model in both forms: what it installs and shows, and a host in C against it. Environment: VERSION.
set -eu
. Tests/LibraryTests/exports.sh
. Tests/HeaderTests/examples.sh
base=$PWD/build/model/test
rm -rf "$base"
mkdir -p "$base"
fail() {
    echo "FAIL $*"
    exit 1
}
multiarch=$(gcc -print-multiarch)

manual() { # FOLDER: the page of each header, and what leads to it from each function
    [ -e "$1/runloopkit.3" ] || fail "RLC-LIB-9: no page of the model"
    while read -r name; do
        [ -e "$1/$name.3" ] || fail "RLC-LIB-9: no page for $name"
        page=$(sed -n 's/^\.so man3\///p' "$1/$name.3")
        grep -q "^\.Nm $name\( ,\)\{0,1\}$" "$1/${page:-$name.3}" || fail "RLC-LIB-9: the page of $name does not name it"
    done <"$base/listed"
}
find_package() { # PREFIX: a host by CMake, from where the tree lies and from where it is moved to
    command -v cmake >/dev/null 2>&1 || { echo "skipped 1: find_package(runloopkit): no cmake here"; return 0; }
    rm -rf "$base/cmake" && mkdir "$base/cmake"
    cp -r "$1" "$base/cmake/moved"
    cat >"$base/cmake/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.16)
project(host C)
set(CMAKE_C_STANDARD 11)
find_package(runloopkit $VERSION REQUIRED CONFIG)
find_package(runloopkit $VERSION REQUIRED CONFIG)
add_executable(host $PWD/Examples/c-embed/model.c)
target_link_libraries(host PRIVATE runloopkit::runloopkit)
CMAKE
    for tree in "$1" "$base/cmake/moved"; do
        rm -rf "$base/cmake/build"
        cmake -S "$base/cmake" -B "$base/cmake/build" -DCMAKE_PREFIX_PATH="$tree" -DCMAKE_C_COMPILER=gcc >"$base/log" 2>&1 &&
            cmake --build "$base/cmake/build" >"$base/log" 2>&1 || { cat "$base/log"; fail "RLK-C-12: cmake builds no host in $tree"; }
        readelf -d "$base/cmake/build/host" | grep -q "RUNPATH.*$tree/" || fail "RLK-C-12: cmake takes another tree than $tree"
        timeout 10 "$base/cmake/build/host" | head -n 1 | grep -qx "a run begins" || fail "RLK-C-12: the host by cmake says something else"
    done
    rm "$base/cmake/moved/lib/"*/"librunloopkit.so.$VERSION"
    rm -rf "$base/cmake/build"
    ! cmake -S "$base/cmake" -B "$base/cmake/build" -DCMAKE_PREFIX_PATH="$base/cmake/moved" >"$base/log" 2>&1 &&
        grep -q "librunloopkit.so.$VERSION" "$base/log" || fail "RLK-C-12: cmake takes a tree without the library"
    echo "ok   RLK-C-12: hosts by find_package(runloopkit)"
}

# [RLK-C-20] On the main thread the model serves the main queue of the libdispatch that the host is linked with.
main_queue() { # RUNTIME LIBDIR
    swift_lib=$(dirname "$(realpath "$(command -v swiftc)")")/../lib/swift/linux
    [ -e "$swift_lib/libdispatch.so" ] || { echo "skipped 1: the main queue of a host: no libdispatch here"; return 0; }
    cat >"$base/queue.c" <<C
#include <runloopkit/runloopkit.h>
#include <stdio.h>
extern struct dispatch_queue_s _dispatch_main_q;
void dispatch_async_f(struct dispatch_queue_s *queue, void *context, void (*work)(void *));
static void serve(void *context) {
    puts(context);
    rlk_loop_stop(NULL);
}
int main(void) {
    dispatch_async_f(&_dispatch_main_q, "served", serve);
    return rlk_loop_run_in_mode(NULL, NULL, rlk_now(RLK_CLOCK_MONOTONIC) + 10000000000, false) != RLK_RUN_STOPPED;
}
C
    # shellcheck disable=SC2046
    gcc -std=c11 -Wall -Wextra -Werror "$base/queue.c" $($pc --cflags --libs runloopkit) -L"$swift_lib" -ldispatch -lBlocksRuntime -pthread \
        -Wl,-rpath,"$2:$swift_lib" -o "$base/queue-$1" || fail "RLK-C-20: a host of the $1 library with libdispatch"
    [ "$(timeout 30 "$base/queue-$1")" = served ] || fail "RLK-C-20: the $1 library does not serve the host's main queue"
    echo "ok   RLK-C-20: the $1 library serves the main queue of the host's libdispatch"
}

# [RLK-C-22] ThreadSanitizer reports nothing of what a host hands over, and finds the host's own races.
races() { # RUNTIME LIBDIR
    # shellcheck disable=SC2046
    gcc -std=c11 -O1 -g -fsanitize=thread Tests/LibraryTests/model_race_host.c $($pc --cflags --libs runloopkit) -pthread -Wl,-rpath,"$2" \
        -o "$base/races-$1" 2>"$base/log" || { echo "skipped 1: ThreadSanitizer and the model: gcc has none here"; return 0; }
    options=TSAN_OPTIONS=exitcode=66:ignore_noninstrumented_modules=1
    env $options timeout 60 "$base/races-$1" >"$base/said" 2>"$base/log" || { head -n 40 "$base/log"; fail "RLK-C-22: the host ends with $?"; }
    [ "$(cat "$base/said")" = "200 200 3 4 1600 7" ] || fail "RLK-C-22: the host says '$(cat "$base/said")'"
    status=0
    env $options timeout 60 "$base/races-$1" race >/dev/null 2>&1 || status=$?
    [ "$status" = 66 ] || fail "RLK-C-22: a race of the host's own is not found"
    echo "ok   RLK-C-22: ThreadSanitizer reports nothing of a host of the $1 library"
}

dialogues() { # FLAGS...: GLib programs whose dialogues and runs are inside of each other, against the installed library
    pkg-config --exists glib-2.0 || { echo "skipped 1: dialogues in GLib: no glib-2.0 here"; return 0; }
    make --no-print-directory core >"$base/log" 2>&1 || { cat "$base/log"; fail "make core"; }
    for program in dialogue left_dialogue; do
        # shellcheck disable=SC2046
        gcc -std=c11 -Wall -Wextra -Wpedantic -Werror -O2 -Iinclude -ISources/CRunLoop/include "Tests/LibraryTests/$program.c" \
            build/core/libcrunloop.a "$@" $(pkg-config --cflags --libs glib-2.0) -pthread -o "$base/$program" ||
            fail "RLC-MODEL-9: $program does not build"
        timeout 120 "$base/$program" || fail "RLC-MODEL-9, 10: $program in GLib ends with $?"
    done
    echo "ok   RLC-MODEL-9, 10: dialogues of GLib in callouts and in runs of the model"
}

form() { # RUNTIME
    prefix="$base/$1" lib="$base/$1/lib/$multiarch"
    make --no-print-directory install-model MODEL_RUNTIME="$1" PREFIX="$prefix" LIBDIR="$lib" DESTDIR= >"$base/log" 2>&1 ||
        { cat "$base/log"; fail "make install-model MODEL_RUNTIME=$1"; }
    library=$lib/librunloopkit.so.$VERSION
    declared RLK_API include/runloopkit/*.h >"$base/listed"
    exported "$library" >"$base/exported"
    sed 's/$/@@RUNLOOPKIT_0.1/' "$base/listed" | diff -u - "$base/exported" || fail "RLK-C-12: the $1 library shows other names than its headers"
    [ "$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]$/\1/p')" = librunloopkit.so.0 ] || fail "the $1 library's name"
    swift=$(readelf -d "$library" | grep -c 'NEEDED.*libswift' || true)
    case $1 in
        contained)
            needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p' | grep -v -e '^lib[cm]\.so' -e '^libgcc_s\.so' -e '^ld-' | tr '\n' ' ')
            [ -z "$needed" ] || fail "RLK-C-12: the self-contained library needs $needed" ;;
        system) [ "$swift" -gt 0 ] || fail "RLK-C-12: the library on the system's runtime does not need it" ;;
    esac
    pc="env PKG_CONFIG_PATH= PKG_CONFIG_LIBDIR=$lib/pkgconfig pkg-config"
    [ "$($pc --modversion runloopkit)" = "$VERSION" ] || fail "pkg-config's version"
    # shellcheck disable=SC2046
    gcc -std=c11 -Wall -Wextra -Wpedantic -Werror -O2 Examples/c-embed/model.c $($pc --cflags --libs runloopkit) -pthread \
        -Wl,-rpath,"$lib" -o "$base/host-$1" || fail "a host of the $1 library"
    timeout 10 "$base/host-$1" >"$base/said" || fail "the host of the $1 library ends with $?"
    printf '%s\n' "a run begins" tick mail "it ends" "a run begins" "the panel is closed" "it ends" | diff -u - "$base/said" ||
        fail "the host of the $1 library says something else"
    ! timeout 10 "$base/host-$1" >/dev/full 2>"$base/complaint" && grep -q 'standard output' "$base/complaint" ||
        fail "the host does not see that its output is lost"
    # shellcheck disable=SC2046
    gcc -std=c11 -Wall -Wextra -Wpedantic -Werror -O2 Examples/c-embed/ports.c $($pc --cflags --libs runloopkit) -pthread \
        -Wl,-rpath,"$lib" -o "$base/ports-$1" || fail "a host of the $1 library with ports"
    timeout 10 "$base/ports-$1" >"$base/said" || fail "the host of the $1 library with ports ends with $?"
    printf '%s\n' "question 7: ping" "answer 8: pong" | diff -u - "$base/said" || fail "the host with ports says something else"
    rm -rf "$base/examples" && mkdir "$base/examples"
    for header in include/runloopkit/*.h; do extract "$header" "$base/examples"; done
    # shellcheck disable=SC2046
    run_examples "$base/examples" 15 $($pc --cflags --libs runloopkit) -Wl,-rpath,"$lib" || fail "RLK-C-12: an example with the $1 library"
    main_queue "$1" "$lib"
    [ "$1" != contained ] || races "$1" "$lib"
    echo "ok   RLK-C-12: a host in C with the $1 library of $(wc -c <"$library") bytes, $(wc -l <"$base/exported") names"
    # shellcheck disable=SC2046
    [ "$1" != contained ] || dialogues $($pc --cflags --libs runloopkit) "-Wl,-rpath,$lib"
    manual "$prefix/share/man/man3"
    [ "$1" != contained ] || find_package "$prefix"
    make --no-print-directory uninstall-model PREFIX="$prefix" LIBDIR="$lib" DESTDIR= >"$base/log" 2>&1 || fail "make uninstall-model"
    left=$(find "$prefix" ! -type d)
    [ -z "$left" ] || fail "make uninstall-model leaves $left"
}
form contained
form system
