import RunLoopKit
import RunLoopTesting
import Testing

// SAMPLE: testing-seeds
