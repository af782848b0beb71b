# The examples in C: the blocks from @code{.c} to @endcode in headers, and those from ```c to ``` on a page of the reference. Each is a
# whole program. A line `<!-- not run: REASON -->` above a block makes it count as skipped. For samples.sh and model.sh.

extract() { # FILE FOLDER: writes each example as FOLDER/STEM-NUMBER.c, where the compiler's messages name its place in FILE
    stem=$(basename "$1")
    awk -v base="$2/${stem%.*}" -v path="$1" '
        /^( \* )?<!-- not run: .* -->$/ {
            reason = $0
            sub(/^.*<!-- not run: /, "", reason)
            sub(/ -->$/, "", reason)
            next
        }
        /^( \* @code[{]\.c[}]|```c)$/ {
            if (reason != "") print "skipped 1: " path ":" NR ": " reason
            else {
                file = base "-" ++count ".c"
                printf "#line %d \"%s\"\n", NR + 1, path >file
            }
            next
        }
        /^( \* @endcode|```)$/ {
            if (file != "") close(file)
            file = reason = ""
            next
        }
        file != "" { sub(/^ \* ?/, ""); print >file; next }
        { reason = "" }' "$1"
}
run_examples() { # FOLDER MINIMUM FLAG...: builds each with the flags, and runs it. Fails if there are fewer than MINIMUM.
    folder=$1 minimum=$2 count=0
    shift 2
    for example in "$folder"/*.c; do
        [ -e "$example" ] || break
        place=$(sed -n '1s/^#line \([0-9]*\) "\(.*\)"$/\2:\1/p' "$example")
        gcc -std=c11 -Wall -Wextra -Wpedantic -Werror "$example" "$@" -pthread -o "$example.program" ||
            { echo "FAIL $place: the example does not build"; return 1; }
        status=0
        timeout 10 "$example.program" </dev/null >"$example.said" 2>&1 || status=$?
        [ "$status" = 0 ] || { cat "$example.said"; echo "FAIL $place: the example ends with $status"; return 1; }
        count=$((count + 1))
    done
    [ "$count" -ge "$minimum" ] || { echo "FAIL $count examples, fewer than $minimum"; return 1; }
    echo "ok   $count examples in C build and run"
}
# An example that does not build, or ends with another status than 0, must be a failure.
check_judgement() { # FOLDER
    for program in 'int main(void) { return nothing; }' 'int main(void) { return 1; }'; do
        rm -rf "$1" && mkdir "$1"
        printf '/**\n * Text.\n *\n * @code{.c}\n * %s\n * @endcode\n */\n' "$program" >"$1/wrong.h"
        extract "$1/wrong.h" "$1"
        ! run_examples "$1" 1 >"$1/log" 2>&1 || { echo "FAIL a wrong example is not noticed: $program"; return 1; }
        grep -q "FAIL $1/wrong.h:5: the example " "$1/log" || { cat "$1/log"; echo "FAIL a wrong example is not named"; return 1; }
    done
}
