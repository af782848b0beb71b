internal import RunLoopLibc

/// A message during a send: the receiver's copy, and the descriptors that move into it when it is delivered.
package struct Parcel: ~Copyable {
  package private(set) var message: RunLoop.Message
  /// The sender's descriptors; empty for most messages.
  private var givers: [RunLoop.Message.Descriptor] = []
  /// Empty descriptors in the receiver's copy, in the same order.
  private var takers: [RunLoop.Message.Descriptor] = []

  /// - Throws: `.tooManyDescriptors`; `.system` with `EBADF` for an empty descriptor. Nothing has moved then.
  @inline(__always)
  package init(_ message: RunLoop.Message) throws(RunLoopError) {
    self.message = message
    self.message.sender = nil
    for case .descriptor in message.components {
      try packDescriptors()
      break
    }
  }

  @inline(never)
  private mutating func packDescriptors() throws(RunLoopError) {
    for index in message.components.indices {
      guard case .descriptor(let giver) = message.components[index] else { continue }
      guard giver.fileDescriptor >= 0 else {
        let detail = "component \(index): \(RunLoop.Message.Descriptor.isEmpty)"
        throw .system(EBADF, detail)
      }
      let taker = RunLoop.Message.Descriptor()
      givers.append(giver)
      takers.append(taker)
      message.components[index] = .descriptor(taker)
    }
    guard givers.count <= RunLoop.Message.maximumDescriptors else { throw .tooManyDescriptors }
  }

  /// Moves all descriptors to the receiver's copy. If it throws, the sender has all of them. Under the receiver's lock.
  @inline(__always)
  package func moveDescriptors() throws(RunLoopError) {
    if !givers.isEmpty { try moveAll() }
  }

  /// Moves all descriptors back to the sender, after a failed send.
  package func returnDescriptors() {
    for index in givers.indices {
      if let number = takers[index].moveOut() { givers[index].moveIn(number) }
    }
  }

  package var descriptorCount: Int { givers.count }

  @inline(never)
  private func moveAll() throws(RunLoopError) {
    for index in givers.indices {
      if let number = givers[index].moveOut() {
        takers[index].moveIn(number)
        continue
      }
      // The descriptor was taken meanwhile, or is in the message twice. This function has filled the takers before
      // `index`, and no other code has references to them yet.
      for moved in givers.indices[..<index] { givers[moved].moveIn(takers[moved].moveOut()!) }
      let detail = "a descriptor of the message was taken meanwhile, or is in it twice"
      throw .system(EBADF, detail)
    }
    for taker in takers { taker.hide() }  // until the receiver gets the message
  }
}
