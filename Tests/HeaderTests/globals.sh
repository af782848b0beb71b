#!/bin/sh
# What the core keeps for the whole process, from its object files: nothing but what ARCHITECTURE.md names. Arguments: objects.
set -eu
allowed="has_handle last_generation once rlc_call_absent rlc_fork_word unshared_state unshared_tables without_page"
found=$(objdump -t "$@" | awk '/ O (\.bss|\.data|\.data\.rel|\.data\.rel\.local|\*COM\*)[ \t]/ { sub(/\.[0-9]+$/, "", $NF); print $NF }' |
    sort -u)
for name in $found; do
    case " $allowed " in
        *" $name "*) ;;
        *) echo "header-test: the core has a global '$name'; see ARCHITECTURE.md"; exit 1 ;;
    esac
done
# An empty list would mean that nothing was looked at.
[ -n "$found" ] || { echo "header-test: no symbols in $*"; exit 1; }
echo "header-test: globals: $(echo $found)"
