// Runs a relacy test and its variants with planted mistakes: the first must pass, the others must be found.
#ifndef RELACY_SUPPORT_HPP
#define RELACY_SUPPORT_HPP

#include <relacy/relacy.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>

/** False if a sound protocol fails, or a planted mistake is not found. RELACY_HISTORY=1 shows how a violation comes about. */
template <typename test> bool expect(const char *name, bool holds) {
    static std::ostream nowhere(nullptr); // relacy replaces operator new: a stream that allocates would confuse it
    rl::test_params params;
    params.search_type = rl::sched_full;
    params.execution_depth_limit = 500;
    params.progress_stream = &nowhere;
    params.output_stream = std::getenv("RELACY_HISTORY") ? &std::cout : &nowhere;

    auto begin = std::chrono::steady_clock::now();
    bool held = rl::simulate<test>(params);
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    bool is_violation = params.test_result == rl::test_result_user_assert_failed ||
                        params.test_result == rl::test_result_data_race;
    bool right = holds ? held : is_violation;
    std::printf("%-4s %-34s %-20s %9llu executions %6.1f s\n", right ? "ok" : "FAIL", name,
        held ? "holds" : rl::test_result_str(params.test_result), (unsigned long long)params.stop_iteration, seconds);
    std::fflush(stdout);
    return right;
}

#endif
