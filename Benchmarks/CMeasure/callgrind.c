/** Reads what callgrind wrote about the measured region. */
#include "CMeasure.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Functions have numbers in the file: "fn=(12) malloc" where one is named first, "cfn=(12)" later. */
enum { MOST_FUNCTIONS = 1 << 16 };

static bool allocates(const char *name) {
    static const char *const names[] = {
        "malloc", "calloc", "realloc", "reallocarray", "posix_memalign", "aligned_alloc", "memalign"};
    size_t length = strcspn(name, "'\n"); /* malloc'2 is a call from within itself */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == length && strncmp(names[i], name, length) == 0)
            return true;
    return false;
}

/** The function that a line is about; learns its name if it is given here. */
static unsigned function_of(const char *line, bool *allocators) {
    char *end;
    unsigned long number = strtoul(line, &end, 10);
    if (number >= MOST_FUNCTIONS)
        return 0;
    if (end[0] == ')' && end[1] == ' ')
        allocators[number] = allocates(end + 2);
    return (unsigned)number;
}

bool bench_callgrind_read(const char *path, int64_t *ret_instructions, int64_t *ret_allocations) {
    static bool allocators[MOST_FUNCTIONS];
    static char line[1 << 16];
    memset(allocators, 0, sizeof allocators);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    long long total = -1, allocations = 0, part;
    unsigned called = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "fn=(", 4) == 0)
            function_of(line + 4, allocators);
        else if (strncmp(line, "cfn=(", 5) == 0)
            called = function_of(line + 5, allocators);
        else if (sscanf(line, "calls=%lld", &part) == 1)
            allocations += allocators[called] ? part : 0;
        else if (sscanf(line, "summary: %lld", &part) == 1 || sscanf(line, "totals: %lld", &part) == 1)
            total = part;
    }
    fclose(file);
    *ret_instructions = total;
    *ret_allocations = allocations;
    return total >= 0;
}
