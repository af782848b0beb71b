import CTestSupport

/// Under a sanitizer: fewer rounds, and longer until a hang is one.
let isSlow = test_allocations() < 0
