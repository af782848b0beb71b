import CSystemd
import Glibc
import RunLoopKit

func check(_ status: Int32, _ call: String) throws {
  if status < 0 { throw RunLoopError.system(-status, call: call) }
}

// Both ends of a connection, in one loop and without a broker, so that this runs anywhere. The user's bus is
// `sd_bus_open_user(&bus)`, and the rest stays the same.
var ends: [Int32] = [0, 0]
guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
  throw RunLoopError.system(errno, call: "socketpair")
}

func connection(_ descriptor: Int32, isServer: Bool) throws -> OpaquePointer {
  var bus: OpaquePointer?
  try check(sd_bus_new(&bus), "sd_bus_new")
  try check(sd_bus_set_fd(bus, descriptor, descriptor), "sd_bus_set_fd")
  if isServer {
    var id = sd_id128_t()
    try check(sd_id128_randomize(&id), "sd_id128_randomize")
    try check(sd_bus_set_server(bus, 1, id), "sd_bus_set_server")
  }
  try check(sd_bus_start(bus), "sd_bus_start")
  return bus!
}

let loop = RunLoop.main
let server = try BusSource(connection(ends[0], isServer: true), on: loop)
let client = try BusSource(connection(ends[1], isServer: false), on: loop)

// The server: `Double` answers with twice the number. Any other method gets no answer.
let answer: sd_bus_message_handler_t = { call, _, _ in
  guard sd_bus_message_is_method_call(call, "example.Numbers", "Double") > 0 else { return 1 }
  var number: Int32 = 0
  sd_bus_message_read_basic(call, CChar(UInt8(ascii: "i")), &number)
  number *= 2
  var reply: OpaquePointer?
  guard sd_bus_message_new_method_return(call, &reply) >= 0 else { return 1 }
  defer { sd_bus_message_unref(reply) }
  sd_bus_message_append_basic(reply, CChar(UInt8(ascii: "i")), &number)
  sd_bus_send(nil, reply, nil)
  return 1
}
try check(sd_bus_add_filter(server.bus, nil, answer, nil), "sd_bus_add_filter")

/// Calls a method of the server, and does not wait for the answer.
@MainActor func call(
  _ method: String, _ number: Int32, limit: Duration, _ handler: @escaping sd_bus_message_handler_t
) throws {
  var message: OpaquePointer?
  try check(
    sd_bus_message_new_method_call(client.bus, &message, nil, "/", "example.Numbers", method), "new_method_call")
  defer { sd_bus_message_unref(message) }
  var number = number
  try check(sd_bus_message_append_basic(message, CChar(UInt8(ascii: "i")), &number), "append_basic")
  let microseconds = UInt64(limit / .microseconds(1))
  try check(sd_bus_call_async(client.bus, nil, message, handler, nil, microseconds), "sd_bus_call_async")
}

try call("Double", 21, limit: .seconds(10)) { reply, _, _ in
  var number: Int32 = 0
  sd_bus_message_read_basic(reply, CChar(UInt8(ascii: "i")), &number)
  print("the answer is \(number)")
  return 1
}
try call("Ignore", 21, limit: .milliseconds(200)) { reply, _, _ in
  // The library's own date, which the loop's timer keeps.
  print("no answer in time: \(sd_bus_message_is_method_error(reply, nil) > 0)")
  RunLoop.main.stop()
  return 1
}
try loop.run(for: .seconds(30))
print("over")
