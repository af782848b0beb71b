@_spi(ExperimentalCustomExecutors) import _Concurrency

/// Only a toolchain with this interface has the shapes of the files *.spi.swift.
let probe: Any.Type = (any ExecutorFactory).self
