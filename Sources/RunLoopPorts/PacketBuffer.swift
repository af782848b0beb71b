internal import CRunLoopCore
import RunLoopKit

/// Memory for one packet on its way in: one a thread that has a loop, however many connections the loop serves.
final class PacketBuffer {
  let bytes: UnsafeMutableRawPointer
  let received: UnsafeMutablePointer<rlc_received>

  static let capacity = Int(RLC_FRAME_LARGEST)

  init() {
    bytes = .allocate(byteCount: PacketBuffer.capacity, alignment: 16)
    received = .allocate(capacity: 1)
    received.initialize(to: rlc_received())
  }

  deinit {
    bytes.deallocate()
    received.deallocate()
  }

  /// The thread's own; one for the moment on a thread without a loop. It is not in use when user code runs.
  static var ofThread: PacketBuffer {
    // No other type stores anything there.
    unsafeDowncast(ThreadRecord.packetScratch { PacketBuffer() }, to: PacketBuffer.self)
  }

  /// A packet of this size, out of the thread's way: user code runs before it is opened.
  func copy(_ size: Int) -> PacketBuffer {
    let copy = PacketBuffer()
    copy.bytes.copyMemory(from: bytes, byteCount: size)
    copy.received.pointee = received.pointee
    return copy
  }

  /// A descriptor of the packet. The caller that received the packet owns all of them.
  func descriptor(at index: Int) -> Int32 {
    withUnsafeBytes(of: &received.pointee.descriptors) { $0.load(fromByteOffset: 4 * index, as: Int32.self) }
  }

  /// The next packet, and its size or a C status. A child of fork(2) keeps no descriptor of it.
  @inline(__always)
  func receive(_ socket: Int32) -> Int64 {
    Unshared.section {
      let size = rlc_message_socket_receive(socket, bytes, PacketBuffer.capacity, received)
      if received.pointee.count > 0 { listDescriptors() }
      return size
    }
  }

  /// What cannot be listed now, a connection lists when it is made of it, or fails.
  @inline(never)
  private func listDescriptors() { for index in 0..<received.pointee.count { _ = Unshared.add(descriptor(at: index)) } }

  func closeDescriptors(from index: Int = 0) {
    for index in index..<max(index, received.pointee.count) { Unshared.close(descriptor(at: index)) }
  }
}

extension RunLoop.Message.Sender {
  init(_ credentials: rlc_credentials) {
    self.init(
      processID: credentials.process_id, userID: credentials.user_id, groupID: credentials.group_id)
  }
}
