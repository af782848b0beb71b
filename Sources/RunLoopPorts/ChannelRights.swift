internal import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc

// Rights in received packets, and the refusal of messages. Call these functions with the lock `receiving` held.
extension Channel {
  /// Why a message is refused.
  enum Objection: Error {
    /// The peer has violated the protocol, which ends the connection.
    case breach(String)
    /// A limit or a lack of resources, which concerns this message only.
    case shortage(String)
  }

  func right(
    _ entry: rlc_frame_entry, _ packet: PacketBuffer, _ used: inout Int
  ) throws(Objection) -> RunLoop.Port.SendRight {
    if entry.flags & RightFlag.asSocket != 0 {
      defer { used += 1 }
      return try introducedRight(packet.descriptor(at: used), isOnce: entry.flags & RightFlag.once != 0)
    }
    if entry.flags & RightFlag.yours != 0 { return RunLoop.Port.SendRight(ownRight(entry.value)) }
    let right: any Destination = importing.withLock {
      if entry.flags & RightFlag.once != 0 { return imports.answerArrived(entry.value, on: self) }
      return imports.arrived(entry.value, on: self)
    }
    if let port = right as? RemotePort { importedOneMore(port) }
    return RunLoop.Port.SendRight(right)
  }

  private func importedOneMore(_ port: RemotePort) {
    if isBroken { port.invalidation.invalidate() }
    releaseIdle(importing.withLock { imports.sweep() })
  }

  /// Releases rights that `sweep` has removed, and reports that to the peer.
  private func releaseIdle(_ idle: [RemotePort]) {
    guard !idle.isEmpty else { return }
    for port in idle { port.forget() }
    importing.withLock { giveBackRights() }
    sendControl(.drop(idle.map { ($0.number, $0.count) }, isQuiet: false))
  }

  /// How many rights of a connection are not charged. Further ones are charged in groups of that size.
  private static let rightsAtOnce = 64

  var needsRights: Bool {
    importing.withLock { imports.count > Channel.rightsAtOnce * (rightCharges.count + 1) }
  }

  func chargeRights() throws(Objection) {
    if let charge = try? account.charge(Channel.rightsAtOnce, .right) {
      return importing.withLock { rightCharges.append(charge) }
    }
    releaseIdle(importing.withLock { imports.sweep(isUrgent: true) })
    guard needsRights else { return }
    let charge = try charge(Channel.rightsAtOnce, .right)
    importing.withLock { rightCharges.append(charge) }
  }

  /// Releases the charges that the remaining rights do not need. Under `importing`.
  func giveBackRights() {
    while !rightCharges.isEmpty, imports.count <= Channel.rightsAtOnce * rightCharges.count {
      rightCharges.removeLast()
    }
  }

  /// Returns the export with the number. A right to answer is removed, because it is used once.
  func use(_ number: UInt64) -> Exports.Target? {
    // Not `withLock`: see `receive`.
    sending.lock()
    defer { sending.unlock() }
    guard let target = exports[number] else { return nil }
    if case .answer = target { return exports.remove(number) }
    return target
  }

  /// Returns the destination of a right to a port or request of this side, which the peer sends back. A right to answer
  /// is removed.
  private func ownRight(_ number: UInt64) -> any Destination {
    switch use(number) {
    case .port(_, let destination): return destination
    case .answer(let right): return right
    case nil: return DeadDestination()
    }
  }

  /// Creates a connection from an introduction, and returns the right to the port at its other end; beyond a limit it
  /// returns a dead right. The connection owns the descriptor; without a connection, this function closes it.
  private func introducedRight(_ descriptor: Int32, isOnce: Bool) throws(Objection) -> RunLoop.Port.SendRight {
    guard Channel.isFit(descriptor) else {
      Unshared.close(descriptor)
      throw .breach("a right that is no socket")
    }
    let channel: Channel
    do {
      let slot = try account.charge(1, .introduction)
      channel = try Channel(
        descriptor, terms: terms, isInitiator: true, isIntroduced: true, peer: nil, account: account, slot: slot)
    } catch let excess as PeerAccount.Excess {
      Channel.turnAway(descriptor, excess.reason)
      refusalsToReport.append((excess.reason, .introduction))
      return RunLoop.Port.SendRight(DeadDestination())
    } catch {
      throw .shortage("\(error)")
    }
    newcomers.append(channel)
    return RunLoop.Port.SendRight(
      isOnce
        ? channel.importing.withLock { channel.imports.answerArrived(0, on: channel) }
        : channel.importing.withLock { channel.imports.arrived(0, on: channel) })
  }

  /// Refuses a sound message. Gives back the rights among its entries from `first` on. If the message is a
  /// request, or the answer to one, that request throws.
  func refuse(_ view: inout rlc_frame_view, from first: Int, _ why: String) -> Arrival {
    var dropped: [(number: UInt64, count: UInt32)] = []
    for index in first..<max(first, Int(view.header.entries)) {
      let entry = rlc_frame_entry_at(&view, index)
      guard entry.kind == UInt8(RLC_FRAME_RIGHT.rawValue), entry.flags & RightFlag.asSocket == 0 else { continue }
      if entry.flags & RightFlag.yours == 0 {
        dropped.append((entry.value, 1))
      } else {
        releasedLater = (releasedLater, ownRight(entry.value))
      }
    }
    let number = view.header.destination
    let answer = sending.withLock { () -> Exports.Target? in
      if !dropped.isEmpty { sendOrQueue(.drop(dropped, isQuiet: false)) }
      guard case .answer? = exports[number] else { return nil }
      return exports.remove(number)
    }
    releasedLater = (releasedLater, answer)
    refusalsToReport.append((why, .message))
    return .refused(answer?.mailbox)
  }
}
