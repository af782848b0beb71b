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

# The core's lists are libbsd's macros, or else the C library's, or else its own (lists.h): with each of them every file of the core
# compiles. "libbsd" is not tried here: it is what `make core` takes. musl has neither libbsd, nor <sys/queue.h>, nor the kernel's
# headers, and Swift's static SDK for Linux is musl: so the own macros are tried with musl's headers alone.
mkdir "$scratch/include"
for entry in /usr/include/*; do
    [ "$entry" = /usr/include/bsd ] || ln -s "$entry" "$scratch/include/"
done
multiarch=$(gcc -print-multiarch)
core() { # what is missing, compiler and its options
    missing=$1
    shift
    for file in Sources/CRunLoopCore/*/*.c Sources/CRunLoop/*.c; do
        loop= # no part of the core knows the loop
        case $file in Sources/CRunLoop/*) loop="-ISources/CRunLoop/include -ISources/CRunLoop/internal" ;; esac
        "$@" -std=c11 -D_GNU_SOURCE -Iinclude $loop -ISources/CRunLoopCore/internal $flags "$file" ||
            { echo "header-test: $file fails without $missing, with $1"; exit 1; }
        count=$((count + 1))
    done
}
for compiler in gcc "$CLANG"; do
    command -v "$compiler" >/dev/null 2>&1 || continue
    own=$("$compiler" -print-file-name=include)
    core libbsd "$compiler" -nostdinc -isystem "$own" -isystem "$scratch/include" -isystem "/usr/include/$multiarch"
done
musl=/usr/include/$(uname -m)-linux-musl
if [ -d "$musl" ] && command -v "$CLANG" >/dev/null 2>&1; then
    own=$("$CLANG" -print-resource-dir)/include
    # musl's CMSG_NXTHDR compares a signed with an unsigned number.
    flags="$flags -Wno-sign-compare"
    core "<sys/queue.h> and <linux/...>" "$CLANG" -target "$(uname -m)-unknown-linux-musl" -nostdinc -isystem "$own" -isystem "$musl"
    flags="$*"
else
    echo "skipped 1: the core with musl's headers alone: no $musl, or no clang"
fi
# The numbers that stand in for the kernel's headers are the kernel's.
{
    printf '#include <linux/%s.h>\n' futex magic membarrier sockios
    echo '#include <sys/ioctl.h>'
    sed -n 's/^#define \([A-Z_]*\) \([0-9A-Z][0-9a-zA-Z]*\)$/_Static_assert((\1) == (\2), "\1");/p' Sources/CRunLoopCore/internal/kernel_numbers.h
} >"$scratch/numbers.c"
[ "$(grep -c _Static_assert "$scratch/numbers.c")" = 10 ] || { echo "header-test: kernel_numbers.h has other numbers"; exit 1; }
gcc -std=c11 $flags "$scratch/numbers.c" || { echo "header-test: kernel_numbers.h differs from the kernel's headers"; exit 1; }
count=$((count + 1))

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
