#!/bin/sh
# The Debian package: dpkg-buildpackage builds it, lintian accepts it, and a host builds and runs against what it installs, in a
# copy of this system that is gone afterwards. Environment: VERSION.
set -eu
for tool in dpkg-buildpackage dh lintian; do
    command -v "$tool" >/dev/null 2>&1 || { echo "skipped 1: the Debian package: no $tool here"; exit 0; }
done
base=$PWD/build/debian
rm -rf "$base"
mkdir -p "$base/crunloop-$VERSION"
log=$base/log

fail() {
    tail -n 40 "$log" 2>/dev/null || true
    echo "FAIL $*"
    exit 1
}

# ---- source: what is released, and debian/ beside it ----

if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git ls-files -z --cached --others --exclude-standard >"$base/names"
else
    find . \( -name '.build*' -o -path ./build \) -prune -o ! -type d -print0 >"$base/names"
fi
tar -c --null --ignore-failed-read -T "$base/names" 2>/dev/null | tar -x -C "$base/crunloop-$VERSION"
[ "$(dpkg-parsechangelog -l debian/changelog -S Version)" = "$VERSION-1" ] || fail "debian/changelog is not of version $VERSION"
tar -cJf "$base/crunloop_$VERSION.orig.tar.xz" -C "$base" --exclude="crunloop-$VERSION/debian" "crunloop-$VERSION"

# The tests of the core are steps of their own.
(cd "$base/crunloop-$VERSION" && DEB_BUILD_OPTIONS="nocheck parallel=$(nproc)" dpkg-buildpackage -us -uc) >"$log" 2>&1 ||
    fail "dpkg-buildpackage"
rm -rf "$base/crunloop-$VERSION"
! grep -q 'dpkg-gensymbols: warning' "$log" || fail "debian/libcrunloop0.symbols does not agree with the library"
echo "ok   RLC-LIB-7: dpkg-buildpackage builds $(cd "$base" && echo *.deb | wc -w) packages and their source"

lintian --allow-root --fail-on error,warning "$base"/crunloop_*.changes >"$log" 2>&1 || fail "lintian does not accept the package"
echo "ok   RLC-LIB-7: lintian accepts them"

# ---- a host against the installed packages ----

cat >"$base/inside" <<'INSIDE'
set -e
cd /srv/crunloop
dpkg -i libcrunloop0_*.deb libcrunloop-dev_*.deb >log 2>&1 || { cat log; exit 1; }
env -u LD_LIBRARY_PATH -u PKG_CONFIG_PATH sh -ec '
    cc hello.c $(pkg-config --cflags --libs crunloop) -o hello && ./hello
    cc -static hello.c $(pkg-config --static --cflags --libs crunloop) -o hello-static && ./hello-static'
ls /usr/share/man/man3/crunloop.3.gz /usr/share/man/man3/rlc_loop.3.gz /usr/share/man/man3/rlc_loop_run.3.gz /usr/share/doc/libcrunloop-dev/examples/c-embed/main.c
dpkg -r libcrunloop-dev libcrunloop0 >log 2>&1 || { cat log; exit 1; }
! ls /usr/include/crunloop /usr/lib/*/libcrunloop* 2>/dev/null
INSIDE
cp Tests/LibraryTests/hello.c "$base/"
root="-r"
[ "$(id -u)" != 0 ] || root=
# shellcheck disable=SC2086
unshare $root -m true 2>/dev/null || { echo "skipped 1: a host against the installed Debian package: no mount namespace here"; exit 0; }
# shellcheck disable=SC2086,SC2016
unshare $root -m sh -ec '
    mkdir -p "$1/copy"
    mount -t tmpfs none "$1/copy"
    cd "$1/copy"
    mkdir upper work whole
    mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work whole || exit 77
    mount --rbind /dev whole/dev
    mkdir -p whole/srv/crunloop
    cp "$1"/*.deb "$1/hello.c" "$1/inside" whole/srv/crunloop
    exec chroot whole sh /srv/crunloop/inside' sh "$base" >"$log" 2>&1 && status=0 || status=$?
[ "$status" != 77 ] || { echo "skipped 1: a host against the installed Debian package: no overlay file system here"; exit 0; }
[ "$status" = 0 ] && [ "$(grep -c "^$VERSION$" "$log")" = 2 ] || fail "a host against the installed packages"
echo "ok   RLC-LIB-7: hosts build and run against the installed packages, with pkg-config alone"
