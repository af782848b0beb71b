#!/bin/sh
# Compiles each public header alone, as C11 and C++17, with every compiler there is, and those of the kit's parts as C11. Arguments:
# compiler flags.
set -eu
count=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

check() { # compiler, language, standard
    command -v "$1" >/dev/null 2>&1 || { echo "header-test: no $1, left out"; return 0; }
    extension=c
    kit=include/crunloop_kit
    [ "$2" = c ] || { extension=cpp; kit=; }
    for header in include/crunloop/*.h Sources/CRunLoop/include/crunloop/*.h include/runloopkit/*.h ${kit:+$kit/*.h}; do
        # Twice: the guard. In a file of its own: '#pragma once' in a main file would be diagnosed.
        printf '#include <%s>\n#include <%s>\n' "${header##*include/}" "${header##*include/}" > "$scratch/header.$extension"
        define= loop=
        case $header in
            include/crunloop_kit/*) define=-D_GNU_SOURCE ;; # as the core's own files
            Sources/CRunLoop/*) loop=-ISources/CRunLoop/include ;; # what the core and the model declare needs none of it
        esac
        "$1" -x "$2" -std="$3" $define -Iinclude $loop $flags "$scratch/header.$extension" || { echo "header-test: $header fails with $1 -std=$3"; exit 1; }
        count=$((count + 1))
    done
}

flags="$*"
check gcc c c11
check g++ c++ c++17
check "$CLANG" c c11
check "$CLANG++" c++ c++17

# The core's lists are libbsd's macros, or else the C library's, with which each file compiles too; without both there is one line that
# says what to do.
mkdir "$scratch/include"
for entry in /usr/include/*; do
    [ "$entry" = /usr/include/bsd ] || ln -s "$entry" "$scratch/include/"
done
multiarch=$(gcc -print-multiarch)
lists() { # compiler
    command -v "$1" >/dev/null 2>&1 || return 0
    printf '%s\n' '#include "Sources/CRunLoopCore/internal/lists.h"' 'struct leaf { SLIST_ENTRY(leaf) link; };' \
        'SLIST_HEAD(, leaf) leaves;' >"$scratch/lists.c"
    "$1" -std=c11 -I. $flags "$scratch/lists.c" || { echo "header-test: lists.h fails with $1"; exit 1; }
    own=$("$1" -print-file-name=include)
    for file in Sources/CRunLoopCore/*/*.c Sources/CRunLoop/*.c; do
        loop= # no part of the core knows the loop
        case $file in Sources/CRunLoop/*) loop="-ISources/CRunLoop/include -ISources/CRunLoop/internal" ;; esac
        "$1" -std=c11 -D_GNU_SOURCE -Iinclude $loop -ISources/CRunLoopCore/internal $flags -nostdinc -isystem "$own" -isystem "$scratch/include" \
            -isystem "/usr/include/$multiarch" "$file" || { echo "header-test: $file fails without libbsd with $1"; exit 1; }
        count=$((count + 1))
    done
    "$1" -std=c11 -I. $flags -nostdinc "$scratch/lists.c" >"$scratch/lists.log" 2>&1 && exit 1
    [ "$(grep -c 'lists.h.*error' "$scratch/lists.log")" = 1 ] && grep -q 'apt-get install libbsd-dev' "$scratch/lists.log" ||
        { cat "$scratch/lists.log"; echo "header-test: without <sys/queue.h> $1 does not say what to install"; exit 1; }
    count=$((count + 2))
}
lists gcc
lists "$CLANG"

# A platform without epoll: one line says so, and nothing else.
says_once() { # what was compiled, with the output in a file
    [ "$(grep -cE ': (fatal )?error: ' "$scratch/elsewhere.log")" = 1 ] && grep -qE 'base\.h.*error.*RunLoopKit needs Linux' "$scratch/elsewhere.log" ||
        { cat "$scratch/elsewhere.log"; echo "header-test: $1 does not say by one line that Linux is needed"; exit 1; }
    count=$((count + 1))
}
elsewhere() { # compiler
    command -v "$1" >/dev/null 2>&1 || return 0
    echo '#include <crunloop/loop.h>' >"$scratch/elsewhere.c"
    "$1" -std=c11 -U__linux__ -Iinclude -ISources/CRunLoop/include $flags "$scratch/elsewhere.c" >"$scratch/elsewhere.log" 2>&1 &&
        { echo "header-test: $1 compiles for a platform that is not Linux"; exit 1; }
    says_once "$1"
}
elsewhere gcc
elsewhere "$CLANG"

# A Mac (decision 0049): so does each header and each file of the core, although clang finds no header of macOS here, and takes none of
# this machine's.
if command -v "$CLANG" >/dev/null 2>&1; then
    for file in include/*/*.h Sources/CRunLoop/include/crunloop/*.h Sources/CRunLoop/include/crunloop/adapters/*.h \
        Sources/CRunLoopCore/internal/*.h Sources/CRunLoop/internal/*.h Sources/CRunLoopCore/*/*.c Sources/CRunLoop/*.c; do
        language=c
        [ "${file##*/}" != qt.h ] || language=c++
        "$CLANG" -x $language -target x86_64-apple-macos13 -nostdinc -D_GNU_SOURCE -Iinclude -ISources/CRunLoop/include -ISources/CRunLoopCore/internal \
            -ISources/CRunLoop/internal $flags "$file" >"$scratch/elsewhere.log" 2>&1 && { echo "header-test: $file compiles for macOS"; exit 1; }
        says_once "$file, for macOS,"
    done
fi

# The Swift modules, too. Where the compiler finds no modules there is no C library to import.
if command -v swiftc >/dev/null 2>&1; then
    libc="swiftc -frontend -typecheck -parse-stdlib Sources/RunLoopLibc/Libc.swift"
    $libc -resource-dir "$scratch" >"$scratch/libc.log" 2>&1 &&
        { echo "header-test: swiftc compiles for a platform that is not Linux"; exit 1; }
    [ "$(grep -c '^Sources.*: error: ' "$scratch/libc.log")" = 1 ] && grep -q 'error: RunLoopKit needs Linux' "$scratch/libc.log" ||
        { cat "$scratch/libc.log"; echo "header-test: swiftc does not say that Linux is needed"; exit 1; }
    $libc || { echo "header-test: swiftc finds no C library here"; exit 1; }
    count=$((count + 2))
fi
echo "header-test: $count compilations"
