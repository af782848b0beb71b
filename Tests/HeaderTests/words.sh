#!/bin/sh
# [RLC-HEADER-1] scripts/header-words says nothing of the headers, and names what is planted into copies of them.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
scripts/header-words || exit 1
count=0

finds() { # WHAT HEADER SED-EXPRESSION
    sed "$3" "include/crunloop/$2" >"$scratch/$2"
    ! cmp -s "include/crunloop/$2" "$scratch/$2" || { echo "FAIL nothing is planted in $2: $1"; exit 1; }
    scripts/header-words "$scratch/$2" >"$scratch/found" && { echo "FAIL RLC-HEADER-1: not found in $2: $1"; exit 1; }
    [ "$(wc -l <"$scratch/found")" = 1 ] && grep -q ": $1" "$scratch/found" ||
        { cat "$scratch/found"; echo "FAIL RLC-HEADER-1: other than planted in $2: $1"; exit 1; }
    count=$((count + 1))
}
finds "no comment: typedef struct rlc_watch" loop.h 's/^typedef struct rlc_watch rlc_watch;/\n&/'
finds "no comment: RLC_VERSION_PATCH" version.h 's/^.\*\* What mends something.*//'
finds "neither exported nor inline: uint32_t rlc_version" version.h 's/^RLC_API uint32_t/uint32_t/'
finds "no tag of a thread: RLC_API int rlc_post_queue_push" post_queue.h 's/Thread: \[any, signal-safe\]; lock-free/Lock-free/'
finds "no tag of a thread: typedef struct rlc_kernel" kernel.h 's/Thread: \[any\] for the entries.*//'
finds "\[signal\] is no tag of a thread" post_queue.h 's/\[any, signal-safe\]; lock-free/[signal]; lock-free/'
finds "no word on errors: RLC_API int rlc_timeout_ms" clock.h 's/ Cannot fail\. The duration/ The duration/'
finds "no word on whether the result may be NULL" post_queue.h 's/; NULL if there were none//'
finds "no word on who owns it: typedef struct rlc_loop" loop.h 's/A loop\. Who creates it owns it.*/A loop. *\//'
finds "no word on who owns what it gives out" timer_heap.h 's/, which stays its owner.s//'
finds "no word on the parameter .loop.: RLC_API int rlc_loop_stop" loop.h 's/@param loop \(.*RLC-LOOP-12\)/\1/'
finds "no word on what it returns: RLC_API bool rlc_wakeup_port_is_asleep" wakeup_port.h 's/@return True between/True between/'
echo "ok   RLC-HEADER-1: $count planted faults of comments are found"
