import CRunLoopCore
import Glibc

/// A frame as it is sent, sound as long as nobody changes it.
struct Packet {
  var bytes: [UInt8]
  /// Lent.
  var descriptors: [Int32] = []

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  init(
    _ kind: rlc_frame_kind, id: UInt32 = 0, flags: Int = 0, to destination: UInt64 = 0, payload: UInt64? = nil,
    _ entries: [rlc_frame_entry] = [], _ inline: [UInt8] = [], _ descriptors: [Int32] = []
  ) {
    var header = rlc_frame_header()
    header.magic = RLC_FRAME_MAGIC
    header.version = UInt8(RLC_FRAME_VERSION)
    header.kind = UInt8(kind.rawValue)
    header.flags = UInt16(flags)
    header.id = id
    header.entries = UInt16(entries.count)
    header.descriptors = UInt16(descriptors.count)
    header.destination = destination
    header.payload = payload ?? UInt64(inline.count)
    bytes = withUnsafeBytes(of: header) { Array($0) }
    for entry in entries { bytes += withUnsafeBytes(of: entry) { Array($0) } }
    bytes += inline
    self.descriptors = descriptors
  }
}

extension rlc_frame_entry {
  static func bytes(_ count: Int) -> rlc_frame_entry {
    rlc_frame_entry(kind: UInt8(RLC_FRAME_BYTES.rawValue), flags: 0, zero: 0, count: 0, value: UInt64(count))
  }

  static var descriptor: rlc_frame_entry {
    rlc_frame_entry(kind: UInt8(RLC_FRAME_DESCRIPTOR.rawValue), flags: 0, zero: 0, count: 0, value: 0)
  }

  static func right(_ number: UInt64, _ flags: Int = 0, count: UInt32 = 0) -> rlc_frame_entry {
    rlc_frame_entry(
      kind: UInt8(RLC_FRAME_RIGHT.rawValue), flags: UInt8(flags), zero: 0, count: count, value: number)
  }
}

/// A raw end of a connection.
final class RawConnection {
  let descriptor: Int32
  /// Numbers of the server's ports that it has told on this connection, and of some that are gone.
  var theirs: [UInt64] = [0]
  /// Numbers of this side's own that the server has been given rights to.
  var given: [UInt64] = []
  var last: UInt64 = 0
  /// Something that the server has said on it.
  private(set) var hasRead = false

  init(owning descriptor: Int32) { self.descriptor = descriptor }

  init?(to name: String) {
    let folder = rlc_port_folder_open()
    descriptor = rlc_port_name_connect(folder, name)
    close(folder)
    if descriptor < 0 { return nil }
  }

  deinit { close(descriptor) }

  /// The status of `rlc_message_socket_send`.
  func send(_ packet: Packet) -> Int32 {
    packet.bytes.withUnsafeBytes {
      var part = iovec(iov_base: UnsafeMutableRawPointer(mutating: $0.baseAddress), iov_len: $0.count)
      return rlc_message_socket_send(descriptor, &part, 1, packet.descriptors, packet.descriptors.count)
    }
  }

  /// Reads one packet and learns its numbers. The connections that came with it; nil if there is no packet.
  func receive() -> [RawConnection]? {
    var buffer = [UInt8](repeating: 0, count: Int(RLC_FRAME_LARGEST))
    var received = rlc_received()
    var view = rlc_frame_view()
    let size = rlc_message_socket_receive(descriptor, &buffer, buffer.count, &received)
    guard size > 0 else { return nil }
    hasRead = true
    return buffer.withUnsafeBytes { bytes in
      guard rlc_frame_parse(bytes.baseAddress!, Int(size), received.count, .max, &view) == RLC_FRAME_SOUND else {
        rlc_received_close(&received, 0)
        return []
      }
      return learn(&view, &received)
    }
  }

  private func learn(_ view: inout rlc_frame_view, _ received: inout rlc_received) -> [RawConnection] {
    var came: [RawConnection] = []
    var next = view.header.flags & UInt16(RLC_FRAME_IN_MEMORY_FILE) != 0 ? 1 : 0
    let isMessage = view.header.kind == UInt8(RLC_FRAME_MESSAGE.rawValue)
    let descriptors = withUnsafeBytes(of: &received.descriptors) { $0.bindMemory(to: Int32.self) }
    for index in 0..<Int(view.header.entries) where isMessage {
      let entry = rlc_frame_entry_at(&view, index)
      if entry.kind == UInt8(RLC_FRAME_DESCRIPTOR.rawValue) {
        next += 1
      } else if Int(entry.flags) & RLC_FRAME_AS_SOCKET != 0 {
        came.append(RawConnection(owning: dup(descriptors[next])))
        next += 1
      } else if entry.kind == UInt8(RLC_FRAME_RIGHT.rawValue), Int(entry.flags) & RLC_FRAME_YOURS == 0 {
        theirs.append(entry.value)
      }
    }
    rlc_received_close(&received, 0)
    return came
  }
}
