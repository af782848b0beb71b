import RunLoopKit

// Acts on received packets, with no lock held.
extension Channel {
  /// What a received packet requires after `receiving` was released.
  enum Arrival {
    /// There is no packet, or none may be read now.
    case nothing
    /// The message is in its port's queue.
    case delivered
    /// The message is for a port in the mode that runs, and no message waits in that port: it is delivered at once.
    case direct(PortMembership, RunLoop.Message)
    case answer(ReplyRight, RunLoop.Message)
    /// No port has the message's number.
    case unclaimed(UInt64, RunLoop.Message)
    case dead([UInt64])
    case drop([(number: UInt64, count: UInt32)], isQuiet: Bool)
    case introduction(RunLoop.Message.Descriptor, UInt64)
    /// The policy must judge the sender before the packet is opened.
    case toBeJudged(RunLoop.Message.Sender, PacketBuffer, size: Int)
    /// The message was refused. If it was an answer, this is the mailbox of the request.
    case refused(Mailbox?)
    case end(RunLoopError?)
    case violation(String)
  }

  func handle(_ arrival: Arrival) {
    switch arrival {
    case .nothing, .delivered: break
    case .direct(let membership, let message): _ = membership.port.mailbox.accept(message)
    case .answer(let right, let message):
      right.pending.settle(.success(message))
      hasNoMore(for: right.pending.bell)
      let (isWatched, isEmpty) = importing.withLock { (self.isWatched, imports.isEmpty) }
      // If neither holds, the connection stays in the request's modes: the next request most likely uses them again.
      if isWatched || right.pending.isAwaitedByTask && loops.count > 1 { followPorts() }
      if isEmpty { closeIfUnused() }
    case .unclaimed(let number, let message):
      withExtendedLifetime(message) {}
      sendControl(.dead([number]))
      if sending.withLock({ unsentFrames.count > Channel.mostUnsent }) {
        refuse("a flood of messages to ports that do not exist")
      }
    case .dead(let numbers): for number in numbers { peerHasLost(number) }
    case .drop(let rights, let isQuiet):
      // This process itself has sent the mark, so both ends of the connection are in this process.
      if !isInitiator, rights.first?.number == Channel.ownMark { return endConnection(nil) }
      peerHasDropped(rights, isQuiet)
    case .introduction(let end, let number): meet(end, as: number)
    case .toBeJudged(let sender, let packet, let size): judge(sender, packet, size)
    case .refused(let bell):
      if let bell {
        hasNoMore(for: bell)
        followPorts()
        closeIfUnused()
      }
    case .end(let why): endConnection(why)
    case .violation(let why): refuse(why)
    }
  }

  /// The most unsent frames. A peer that reads, and follows the protocol, causes fewer.
  private static let mostUnsent = 256

  private func judge(_ sender: RunLoop.Message.Sender, _ packet: PacketBuffer, _ size: Int) {
    let objection =
      terms.policy.welcomes(sender) ? takeSlot(of: sender) : "not allowed for user \(sender.userID)"
    receiving.lock()
    isBusy = false
    if let objection {
      packet.closeDescriptors()
      endReceiving()
      return refuse(objection, sentBy: sender)
    }
    welcomed = sender
    let arrival = open(packet, size, in: nil)
    endReceiving()
    handle(arrival)
  }

  /// Charges an introduced connection to its first sender's account, no longer to the introducer's. Returns the reason
  /// if that sender has too many connections. Later senders, which have inherited the connection, are not charged.
  private func takeSlot(of sender: RunLoop.Message.Sender) -> String? {
    guard knownPeer == nil else { return nil }
    let own = terms.accounts.account(of: sender)
    do throws(PeerAccount.Excess) {
      let slot = try own.charge(1, .connection)
      receiving.withLock { if !isOver { (account, self.slot) = (own, slot) } }
      return nil
    } catch {
      return error.reason
    }
  }

  private func peerHasLost(_ number: UInt64) {
    let (port, answer, isLast) = importing.withLock {
      let (port, answer) = (imports.removeEnded(number), imports.removeEndedAnswer(number))
      giveBackRights()
      return (port, answer, isInitiator && (port != nil || answer != nil) && imports.isEmpty)
    }
    if isLast { sendControl(.drop([], isQuiet: true)) }
    port?.forget()
    port?.invalidation.invalidate()
    answer?.channelHasEnded()
    closeIfUnused()
  }

  private func peerHasDropped(_ rights: [(number: UInt64, count: UInt32)], _ isQuiet: Bool) {
    var gone: [Exports.Target] = []
    sending.withLock {
      for right in rights {
        if let target = exports.drop(right.number, UInt64(right.count)) { gone.append(target) }
      }
    }
    let mailboxes = gone.map(\.mailbox)
    gone = []  // releases rights to answer, so that their requests throw
    for mailbox in mailboxes { hasNoMore(for: mailbox) }
    if isQuiet {
      let idle = importing.withLock { imports.keepNone() }
      withExtendedLifetime(idle) {}
    }
    if !mailboxes.isEmpty { followPorts() }
    closeIfUnused()
  }

  /// Called when an export for the mailbox was removed. Disconnects the mailbox if no other export serves it.
  func hasNoMore(for mailbox: Mailbox) {
    // Under the lock, so that no other thread exports the port again in between.
    sending.withLock { if origin !== mailbox, !exports.serves(mailbox) { mailbox.disconnect(self) } }
  }

  func flushUnsentFrames() {
    let isTooMuch = sending.withLock { !sendUnsentFrames() && unsentFrames.count > Channel.mostUnsent }
    if isTooMuch { return refuse("does not read what this process sends") }
    updateInterest()
    closeIfUnused()
  }

  // MARK: Full ports

  /// Called when the full port has room or has ended, on the thread that has caused this, with no lock held.
  func wake(from mailbox: Mailbox) {
    receiving.lock()
    defer { endReceiving() }
    guard let held = stalled, held.mailbox === mailbox else { return }
    stalled = nil
    releasedLater = held
    if deliver(held.message, held.charge, to: mailbox) { rest(false) }
  }

  /// Pauses or resumes the connection in all its loops. While it is paused for a full port, the peer's sends wait.
  /// Under `receiving`.
  func rest(_ rests: Bool) {
    for loop in loops { rest(rests, in: loop) }
  }

  /// Queues the message. Returns false if it must wait for room: the connection then stalls. Under `receiving`.
  func deliver(_ message: RunLoop.Message, _ charge: PeerAccount.Charge?, to mailbox: Mailbox) -> Bool {
    while true {
      if let isAccepted = mailbox.accept(message, charge) {
        if isAccepted { return true }
      } else {
        releasedLater = (releasedLater, message)
        return true
      }
      if mailbox.stall(self) {
        stalled = (mailbox, message, charge)
        return false
      }
    }
  }
}
