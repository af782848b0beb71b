#!/bin/sh
# make install and make uninstall with the paths that distributions use, and hosts against what was installed.
# Environment: CLANG, VERSION, SONAME.
set -eu
base=$PWD/build/library
here=Tests/LibraryTests
flags="-Wall -Wextra -Wpedantic -Werror -O2"
rm -rf "$base"
mkdir -p "$base"

fail() {
    echo "FAIL $*"
    exit 1
}
core() { # GOAL PATH...
    make --no-print-directory -f scripts/core.mk "$@" >"$base/log" 2>&1 || { cat "$base/log"; return 1; }
}
tree() { # FOLDER: what lies below it, but folders
    (cd "$1" && find . ! -type d | sed 's/^\.//' | sort)
}
named() { # the functions that the pages have in their NAME
    sed -n '/^\.Sh NAME/,/^\.Nd/s/^\.Nm \(rlc_[a-z0-9_]*\).*/\1/p' build/manual/rlc_*.3 | while read -r name; do
        [ -e "build/manual/$name.3" ] || echo "$name"
    done
}
expected() { # LIBDIR INCLUDEDIR MANDIR
    for page in docs/man/crunloop.3 build/manual/rlc_*.3; do echo "$3/man3/$(basename "$page")"; done
    for name in $(named); do echo "$3/man3/$name.3"; done
    for header in include/crunloop/*.h Sources/CRunLoop/include/crunloop/*.h; do echo "$2/crunloop/$(basename "$header")"; done
    for header in Sources/CRunLoop/include/crunloop/adapters/*.h; do echo "$2/crunloop/adapters/$(basename "$header")"; done
    for name in libcrunloop.a libcrunloop.so "$SONAME" "libcrunloop.so.$VERSION" pkgconfig/crunloop.pc \
        cmake/crunloop/crunloop-config.cmake cmake/crunloop/crunloop-config-version.cmake; do
        echo "$1/$name"
    done
}
flags_of() { # FOLDER-OF-PC FLAG...
    folder=$1
    shift
    PKG_CONFIG_PATH='' PKG_CONFIG_LIBDIR=$folder pkg-config "$@" crunloop | sed 's/ *$//'
}

# ---- where it goes, and that it goes again ----

round() { # NAME LIBDIR INCLUDEDIR MANDIR PATH=VALUE...
    name=$1 lib=$2 include=$3 man=$4 stage="$base/a stage $1"
    shift 4
    core core-install DESTDIR="$stage" "$@" || fail "$name: make install"
    expected "$lib" "$include" "$man" | sort >"$base/expected"
    tree "$stage" >"$base/found"
    diff -u "$base/expected" "$base/found" || fail "$name: other files than expected"
    ! grep -rqI "a stage" "$stage" || fail "$name: the staging folder is named in $(grep -rlI "a stage" "$stage")"
    grep -rl '^\.so ' "$stage$man/man3" | while read -r link; do
        page=$(sed 's/^\.so //' "$link")
        grep -q "^\.Nm $(basename "$link" .3)\( ,\)\{0,1\}$" "$stage$man/$page" || { echo "$link"; exit 1; }
    done || fail "RLC-LIB-9: $name: a link to a page that does not name it"
    libdir=$(PKG_CONFIG_PATH='' PKG_CONFIG_LIBDIR="$stage$lib/pkgconfig" pkg-config --variable=libdir crunloop)
    includedir=$(PKG_CONFIG_PATH='' PKG_CONFIG_LIBDIR="$stage$lib/pkgconfig" pkg-config --variable=includedir crunloop)
    [ "$libdir $includedir" = "$lib $include" ] || fail "$name: pkg-config says $libdir and $includedir"
    : >"$stage$include/crunloop/of_another.h"
    core core-uninstall DESTDIR="$stage" "$@" || fail "$name: make uninstall"
    [ "$(tree "$stage")" = "$include/crunloop/of_another.h" ] || fail "$name: make uninstall leaves or takes $(tree "$stage")"
    core core-uninstall DESTDIR="$stage" "$@" || fail "$name: make uninstall again"
    echo "ok   RLC-LIB-3: installed and taken away: ${*:-the usual paths}"
}
multiarch=$(gcc -print-multiarch)
round local /usr/local/lib /usr/local/include /usr/local/share/man
round multiarch "/usr/lib/$multiarch" /usr/include /usr/share/man PREFIX=/usr LIBDIR="/usr/lib/$multiarch"
round apart /srv/lib /srv/headers /srv/man PREFIX=/opt/crunloop LIBDIR=/srv/lib INCLUDEDIR=/srv/headers MANDIR=/srv/man
core core-install DESTDIR="$base/bare" PYTHON=no-python3 || fail "RLC-LIB-9: make install without python3"
grep -q 'no no-python3 here: the manual pages of the headers are left out' "$base/log" || fail "RLC-LIB-9: nothing is said of pages that are left out"
[ "$(tree "$base/bare" | grep /man/)" = /usr/local/share/man/man3/crunloop.3 ] || fail "RLC-LIB-9: other pages than expected without python3"
core core-install DESTDIR="$base/bare" || fail "make install once more"
core core-uninstall DESTDIR="$base/bare" PYTHON=no-python3 && [ -z "$(tree "$base/bare")" ] || fail "make uninstall leaves $(tree "$base/bare") without python3"
echo "ok   RLC-LIB-9: without python3 the rest is installed, and all is taken away"
! core core-install DESTDIR="$base/none" PREFIX=relative >/dev/null 2>&1 && [ ! -e "$base/none" ] || fail "a relative PREFIX is taken"
echo "ok   RLC-LIB-3: a relative path is refused"

# ---- other flags compile the objects again, the same flags do not ----

compiles() { # PATH=VALUE...: whether make compiles an object
    core CORE_BUILD="$base/objects" "$base/objects/CRunLoop/loop_hook.o" "$@" || fail "RLC-LIB-11: make $*"
    grep -q -- ' -c Sources/CRunLoop/loop_hook.c' "$base/log"
}
debug="-O0 -g -DDEBUG"
compiles || fail "RLC-LIB-11: no object is compiled"
! compiles || fail "RLC-LIB-11: the same flags compile again"
compiles CFLAGS="$debug" || fail "RLC-LIB-11: other CFLAGS do not compile again"
nm "$base/objects/CRunLoop/loop_hook.o" | grep -q ' U __assert_fail' || fail "RLC-LIB-11: a debug build reports nothing"
! compiles CFLAGS="$debug" || fail "RLC-LIB-11: the same CFLAGS compile again"
compiles || fail "RLC-LIB-11: the usual flags do not compile again"
echo "ok   RLC-LIB-11: other flags compile the objects again, the same flags do not"

# ---- hosts: as pkg-config says, with each compiler, against the shared and the static library ----

prefix=$base/prefix
core core-install PREFIX="$prefix" LIBDIR="$prefix/lib/$multiarch" || fail "make install"
pc=$prefix/lib/$multiarch/pkgconfig
[ "$(flags_of "$pc" --modversion)" = "$VERSION" ] || fail "pkg-config has version $(flags_of "$pc" --modversion)"
[ "$(flags_of "$pc" --cflags --libs)" = "-I$prefix/include -L$prefix/lib/$multiarch -lcrunloop" ] ||
    fail "pkg-config: $(flags_of "$pc" --cflags --libs)"

host() { # COMPILER STANDARD SOURCE [static]
    command -v "$1" >/dev/null 2>&1 || { echo "skipped 1: a host by $1: there is none"; return 0; }
    if [ -n "${4:-}" ]; then libraries="-static $(flags_of "$pc" --static --libs)"; else
        libraries="$(flags_of "$pc" --libs) -Wl,-rpath,$prefix/lib/$multiarch"; fi
    # shellcheck disable=SC2086,SC2046
    "$1" -std="$2" $flags $(flags_of "$pc" --cflags) "$3" $libraries -o "$base/host" ||
        fail "$1 -std=$2 ${4:-} builds no host"
    said=$(timeout 10 "$base/host") || fail "a host by $1 -std=$2 ${4:-} ends with $?"
    [ "$said" = "$VERSION" ] || fail "RLC-VERSION-3: a host by $1 was compiled for $said, not $VERSION"
    echo "ok   RLC-LIB-4: a ${4:-shared} host by $(basename "$1") -std=$2"
}
cp $here/hello.c "$base/hello.cpp"
host gcc c11 $here/hello.c
host gcc c11 $here/hello.c static
host g++ c++17 "$base/hello.cpp"
host "$CLANG" c11 $here/hello.c
host "$CLANG++" c++17 "$base/hello.cpp"

# Exceptions of its callouts pass through the library, as far as that has unwind tables.
if command -v g++ >/dev/null 2>&1; then
    # shellcheck disable=SC2086,SC2046
    g++ -std=c++17 $flags $(flags_of "$pc" --cflags) $here/left.cc $(flags_of "$pc" --libs) -Wl,-rpath,"$prefix/lib/$multiarch" -o "$base/host"
    timeout 10 "$base/host" || fail "RLC-LEFT-6: an exception does not pass through the library, or the loop does not go on"
    echo "ok   RLC-LEFT-6: exceptions pass through the library"
fi

# The map's versions reach the program: it asks for the node that brought a function.
gcc $flags $(flags_of "$pc" --cflags) $here/hello.c $(flags_of "$pc" --libs) -o "$base/host"
nm -D "$base/host" | grep -q ' U rlc_loop_create@CRUNLOOP_' || fail "a host's symbols have no version"
echo "ok   RLC-LIB-1: a host's symbols have versions"
