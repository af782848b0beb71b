# What a shared library shows must be what its headers declare, and carry the version that its map names. For symbols.sh and model.sh.

declared() { # API HEADER...: the names of what the headers export
    api=$1
    shift
    sed -n "s/^${api} [^(;]*\\b\\(rl[ck]_[a-z0-9_]*\\)\\( __attribute__\\)\\{0,1\\}[(;].*/\\1/p" "$@" | LC_ALL=C sort
}
exported() { # LIBRARY: name@@version of each symbol
    nm -D --defined-only --with-symbol-versions "$1" | awk '$2 != "A" { print $3 }' | LC_ALL=C sort
}
