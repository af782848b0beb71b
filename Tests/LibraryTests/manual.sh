#!/bin/sh
# The manual pages: mandoc finds nothing, and those of the headers are what the headers say. crunloop(3): its synopsis is what the headers declare, and its example runs. Argument: the static library.
set -eu
. Tests/LibraryTests/exports.sh
page=docs/man/crunloop.3
loop=Sources/CRunLoop/include/crunloop
includes='-Iinclude -ISources/CRunLoop/include'
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
    cat "$scratch/log" 2>/dev/null || true
    echo "FAIL $*"
    exit 1
}

# A declaration that differs from the header's is an error of the compiler.
{
    echo '#include <crunloop/crunloop.h>'
    sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESCRIPTION/p' "$page" |
        awk -F'"' '/^\.Ft / { result = substr($0, 5) }
            /^\.Fn / { split($1, word, " "); text = $2; for (i = 4; i < NF; i += 2) text = text ", " $i
                print result " " word[2] "(" text ");" }'
} >"$scratch/synopsis.c"
gcc -std=c11 -Wall -Wextra -Wpedantic -Werror $includes -fsyntax-only "$scratch/synopsis.c" >"$scratch/log" 2>&1 ||
    fail "RLC-LIB-6: the synopsis is not what the headers declare"
sed -n 's/.* \(rlc_[a-z_]*\)(.*/\1/p' "$scratch/synopsis.c" | sort >"$scratch/shown"
sed -n 's/^RLC_API [^(;]*\b\(rlc_[a-z0-9_]*\)(.*/\1/p' $loop/loop.h $loop/loop_hook.h $loop/loop_post.h $loop/loop_state.h include/crunloop/clock.h include/crunloop/signal_fd.h include/crunloop/version.h | sort >"$scratch/declared"
diff -u "$scratch/declared" "$scratch/shown" >"$scratch/log" || fail "RLC-LIB-6: the synopsis lacks or invents functions"
echo "ok   RLC-LIB-6: crunloop(3) shows the $(wc -l <"$scratch/shown") functions of rlc_loop"

sed -n '/^\.Bd -literal/,/^\.Ed/p' "$page" | sed '/^\./d' >"$scratch/example.c"
gcc -std=c11 -Wall -Wextra -Wpedantic -Werror $includes "$scratch/example.c" "$1" -pthread -o "$scratch/example" \
    >"$scratch/log" 2>&1 || fail "the example of crunloop(3) does not compile"
[ "$(timeout 10 "$scratch/example" | tr '\n' ' ')" = "tick tick tick " ] || fail "the example of crunloop(3) does not tick"
echo "ok   RLC-LIB-6: the example of crunloop(3) runs"

# runloop(1) has each option that the tool's texts of usage have, and no other.
{
    sed -n '/return """$/,/^ *"""$/p' Sources/runloop/RunLoopTool.swift
    sed -n '/static let usage = """/,/^ *"""$/p' Sources/runloop/*/*Command.swift
} |
    grep -o -e '--[a-z][a-z]*' | sort -u >"$scratch/declared"
grep -o 'Fl -[a-z]*' docs/man/runloop.1 | sed 's/Fl -/--/' | sort -u >"$scratch/shown"
diff -u "$scratch/declared" "$scratch/shown" >"$scratch/log" || fail "RLC-LIB-6: runloop(1) lacks or invents options"
echo "ok   RLC-LIB-6: runloop(1) shows the $(wc -l <"$scratch/shown") options of the tool"

# The pages of the headers, as an installation makes them: each header and each function has one, and crunloop(3) names those of the core.
# A comment that changes changes its page, and the page of a header that is gone goes.
pages=$scratch/man
mkdir "$pages"
: >"$pages/rlc_nothing.3"
scripts/manual "$pages"
cp docs/man/* "$pages"
for header in include/crunloop/*.h include/runloopkit/*.h $loop/*.h $loop/adapters/*.h; do
    name=$(basename "$header" .h)
    case $header in
        */crunloop.h | */runloopkit.h) name=$name.3 ;;
        */glib_guest_set.h) continue ;; # a part of another one
        *runloopkit*) name=rlk_$name.3 ;;
        *) name=rlc_$name.3 && { grep -q "\.Xr ${name%.3} 3" "$page" || fail "RLC-LIB-9: crunloop(3) does not name $name"; } ;;
    esac
    [ -s "$pages/$name" ] || fail "RLC-LIB-9: $header has no page"
    echo "$name" >>"$scratch/made"
done
ls "$pages" | grep -v '^runloop\.1$' | sort >"$scratch/there"
sort "$scratch/made" | diff -u - "$scratch/there" >"$scratch/log" || fail "RLC-LIB-9: a page of no header"
for library in crunloop runloopkit; do
    declared 'RL[CK]_API' $(find include/$library $loop -path "*/$library/*.h") | grep -v '^rlc_[a-z]*_word$' | sort >"$scratch/declared"
    sed -n '/^\.Sh NAME/,/^\.Nd/s/^\.Nm \(rl[ck]_[a-z0-9_]*\).*/\1/p' "$pages"/*.3 | sort >"$scratch/shown"
    comm -23 "$scratch/declared" "$scratch/shown" >"$scratch/log"
    [ ! -s "$scratch/log" ] || fail "RLC-LIB-9: functions of $library without a page"
done
mkdir -p "$scratch/copy/Sources/CRunLoop"
cp -r include scripts "$scratch/copy/"
cp -r Sources/CRunLoop/include "$scratch/copy/Sources/CRunLoop/"
sed -i 's/Frees a loop with/Frees the loop with/' "$scratch/copy/Sources/CRunLoop/include/crunloop/loop.h"
sed -i 's/Adds a loop to a context/Adds the loop to a context/' "$scratch/copy/Sources/CRunLoop/include/crunloop/adapters/glib.h"
(cd "$scratch/copy" && scripts/manual man)
diff -rq "$pages" "$scratch/copy/man" | sed -n 's/^Files .*\/\(.*\) differ$/\1/p' | tr '\n' ' ' >"$scratch/log"
[ "$(cat "$scratch/log")" = "rlc_glib.3 rlc_loop.3 " ] || fail "RLC-LIB-9: other pages change than those of two comments"
# An adapter's page shows what a host calls, which no library exports.
sed -n 's/^static inline [^(]*\b\(rlc_[a-z0-9_]*_\(attach\|status\|detach\)\)(.*/\1/p' Sources/CRunLoop/include/crunloop/adapters/*.h | sort >"$scratch/declared"
comm -23 "$scratch/declared" "$scratch/shown" >"$scratch/log"
[ ! -s "$scratch/log" ] || fail "RLC-LIB-9: functions of adapters without a page"
# What README and the guides name is there.
grep -ohE '\brl[ck]_[a-z0-9_]*[a-z0-9]\b' README.md docs/guide/*.md | sort -u >"$scratch/named"
grep -rohE '\brl[ck]_[a-z0-9_]*[a-z0-9]\b' include Sources/CRunLoop/include | sort -u >"$scratch/declared"
comm -23 "$scratch/named" "$scratch/declared" >"$scratch/log"
[ ! -s "$scratch/log" ] || fail "RLC-LIB-9: README or a guide names what no header declares"
echo "ok   RLC-LIB-9: $(ls "$pages"/rl[ck]_*.3 | wc -l) pages are what the headers say"

# The pages show each example of the headers, and no mark or number of a comment.
cat include/crunloop/*.h include/runloopkit/*.h $loop/*.h $loop/adapters/*.h | grep -c '^ \* @code{\.c}$' >"$scratch/declared"
for made in "$pages"/rl[ck]_*.3; do sed -n '/^\.Sh EXAMPLES/,/^\.Sh [^E]/p' "$made"; done >"$scratch/examples"
grep -c '^int main(void) {$' "$scratch/examples" >"$scratch/shown"
diff -u "$scratch/declared" "$scratch/shown" >"$scratch/log" || fail "RLC-LIB-9: the pages lack an example, or invent one"
grep -c '^\.Ss rl[ck]_' "$scratch/examples" >"$scratch/log"
[ "$(cat "$scratch/log")" -ge 20 ] || fail "RLC-LIB-9: fewer than 20 functions have an example"
! grep -n -e '@code' -e '@endcode' -e 'not run:' -e '\[RL[CK]-' "$pages"/rl[ck]_*.3 >"$scratch/log" || fail "RLC-LIB-9: a page shows what is for the scripts"
echo "ok   RLC-LIB-9: the pages show $(cat "$scratch/shown") examples"

command -v mandoc >/dev/null 2>&1 || { echo "skipped 1: the form of the manual pages: no mandoc here"; exit 0; }
# Which other pages there are is the machine's matter; those of our own are looked for here.
mandoc -Tlint -W style "$pages"/*.[13] 2>/dev/null | grep -v 'referenced manual not found' >"$scratch/log" || true
[ ! -s "$scratch/log" ] || fail "mandoc has something to say"
! printf '.Dd x\n.Sh\n' | mandoc -Tlint -W style >/dev/null 2>&1 || fail "mandoc has nothing to say of a wrong page"
sed -n 's/^\.\(It \)\{0,1\}Xr \(\(rl[ck]_\|crunloop\|runloop\)[a-z_]*\) \([13]\).*/\2.\4/p' "$pages"/*.[13] | sort -u | while read -r other; do
    [ -e "$pages/$other" ] || { echo "$other"; exit 1; }
done >"$scratch/log" || fail "a page refers to one that is not there"
echo "ok   RLC-LIB-6: mandoc finds nothing in $(ls "$pages"/*.[13] | wc -l) pages"
