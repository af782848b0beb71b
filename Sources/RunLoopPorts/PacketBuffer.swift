internal import CRunLoopCore
import RunLoopKit

/// Memory for one received packet. Each thread with a loop has one, however many connections the loop serves.
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

  /// The thread's buffer; a temporary one on a thread without a loop. It is not in use while user code runs.
  static var ofThread: PacketBuffer {
    // Only this function stores an object in `packetScratch`.
    ThreadRecord.packetScratch { PacketBuffer() } as! PacketBuffer
  }

  /// Copies a packet, because user code runs before it is opened, and may use the thread's buffer.
  func copy(_ size: Int) -> PacketBuffer {
    let copy = PacketBuffer()
    copy.bytes.copyMemory(from: bytes, byteCount: size)
    copy.received.pointee = received.pointee
    return copy
  }

  /// A descriptor of the packet. The caller that received the packet owns all its descriptors.
  func descriptor(at index: Int) -> Int32 {
    withUnsafeBytes(of: &received.pointee.descriptors) { $0.load(fromByteOffset: 4 * index, as: Int32.self) }
  }

  /// Receives a packet. Returns its size, or a negated errno number. Children of fork(2) close the packet's
  /// descriptors.
  func receive(_ socket: Int32) -> Int64 {
    Unshared.section {
      let size = rlc_message_socket_receive(socket, bytes, PacketBuffer.capacity, received)
      if received.pointee.count > 0 { listDescriptors() }
      return size
    }
  }

  /// Makes children of fork(2) close the descriptors. If one cannot be listed here, the connection that is made of it
  /// tries again, and can throw.
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
