extension OwnerState {
  struct CollectedSource {
    let source: RunLoop.Source
    let signalStamp: UInt64
    let memberStamp: UInt64
  }
}
