import RunLoopKit
import RunLoopTesting
import Testing

// SAMPLE: testing-run
