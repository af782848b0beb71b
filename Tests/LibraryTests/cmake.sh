#!/bin/sh
# find_package(crunloop) from an installed tree, also one that was moved since. Environment: VERSION.
set -eu
command -v cmake >/dev/null 2>&1 || { echo "skipped 1: find_package(crunloop): no cmake here"; exit 0; }
base=$PWD/build/library-cmake
rm -rf "$base"
mkdir -p "$base"

fail() {
    cat "$base/log" 2>/dev/null || true
    echo "FAIL $*"
    exit 1
}
make --no-print-directory -f scripts/core.mk core-install DESTDIR="$base/stage" PREFIX=/usr \
    LIBDIR="/usr/lib/$(gcc -print-multiarch)" >"$base/log" 2>&1 || fail "make install"

configure() { # FOLDER TREE VERSION
    cmake -S Tests/LibraryTests -B "$1" -DCMAKE_PREFIX_PATH="$2/usr" -DWANTED="$3" -DCMAKE_C_COMPILER=gcc >"$base/log" 2>&1
}
configure "$base/build" "$base/stage" "$VERSION" || fail "cmake finds no crunloop $VERSION"
cmake --build "$base/build" >"$base/log" 2>&1 || fail "cmake builds no host"
for host in host host-static; do
    [ "$("$base/build/$host")" = "$VERSION" ] || fail "$host by cmake"
done
echo "ok   RLC-LIB-5: hosts by find_package(crunloop), shared and static"

mv "$base/stage" "$base/moved"
configure "$base/build-moved" "$base/moved" "${VERSION%.*}" && cmake --build "$base/build-moved" >"$base/log" 2>&1 &&
    "$base/build-moved/host" >"$base/log" || fail "cmake finds no crunloop in a tree that was moved"
echo "ok   RLC-LIB-5: a tree that was moved"

for version in 0.0.1 0.2 1.0 "${VERSION%.*}.999"; do
    ! configure "$base/build-other" "$base/moved" "$version" || fail "cmake takes $VERSION for $version"
    grep -q "compatible with" "$base/log" || fail "cmake refuses $version for another reason"
done
echo "ok   RLC-LIB-5: other versions are refused"

# What find_package does with the file, for a compiler with pointers of SIZE bytes.
suits() { # SIZE
    cat >"$base/suits.cmake" <<CMAKE
set(CMAKE_SIZEOF_VOID_P $1)
set(PACKAGE_FIND_VERSION $VERSION)
file(GLOB file $base/moved/usr/lib/*/cmake/crunloop/crunloop-config-version.cmake)
include(\${file})
if(PACKAGE_VERSION_UNSUITABLE OR NOT PACKAGE_VERSION_COMPATIBLE)
  message(FATAL_ERROR "unsuitable: \${PACKAGE_VERSION}")
endif()
CMAKE
    cmake -P "$base/suits.cmake" >"$base/log" 2>&1
}
pointer=$(gcc -dM -E -x c /dev/null | sed -n 's/^.define __SIZEOF_POINTER__ //p')
suits "$pointer" && suits "" || fail "cmake refuses pointers of $pointer bytes"
! suits $((12 - pointer)) && grep -q "pointers of $pointer bytes" "$base/log" || fail "cmake takes pointers of $((12 - pointer)) bytes"
echo "ok   RLC-LIB-5: pointers of another size are refused"

rm "$base/moved/usr/lib/"*/libcrunloop.a
configure "$base/build-shared" "$base/moved" "$VERSION" && cmake --build "$base/build-shared" >"$base/log" 2>&1 &&
    "$base/build-shared/host" >"$base/log" && [ ! -e "$base/build-shared/host-static" ] || fail "a tree without the static library"
echo "ok   RLC-LIB-5: a tree without the static library"

rm "$base/moved/usr/lib/"*/"libcrunloop.so.$VERSION"
! configure "$base/build-less" "$base/moved" "$VERSION" && grep -q "libcrunloop.so.$VERSION" "$base/log" ||
    fail "cmake takes a tree without libcrunloop.so"
echo "ok   RLC-LIB-5: an incomplete tree is refused"
