import RunLoopKit

/// Who is there. On the loop's thread, as the sessions are: a call between them changes no thread.
actor Room {
  private let loop: RunLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.executor.asUnownedSerialExecutor() }
  /// In the order in which they came.
  private var members: [(name: String, session: Session)] = []
  private var visits = 0

  init(on loop: RunLoop) { self.loop = loop }

  var names: [String] { members.map(\.name) }

  /// The name of the new member.
  func join(_ session: Session) async -> String {
    visits += 1
    let name = "guest-\(visits)"
    await announce("\(name) has come")
    members.append((name, session))
    return name
  }

  func leave(_ session: Session) async {
    guard let index = members.firstIndex(where: { $0.session === session }) else { return }
    await announce("\(members.remove(at: index).name) has gone")
  }

  /// The name that the member has from now on, which nobody else has; nil: somebody has it.
  func rename(_ session: Session, to name: String) async -> Bool {
    guard !names.contains(name), let index = members.firstIndex(where: { $0.session === session }) else { return false }
    let old = members[index].name
    members[index].name = name
    await announce("\(old) is \(name)")
    return true
  }

  func announce(_ text: String) async {
    for member in members { await member.session.tell("* \(text)") }
  }

  func say(_ text: String, from session: Session) async {
    guard let name = members.first(where: { $0.session === session })?.name else { return }
    for member in members where member.session !== session { await member.session.tell("\(name): \(text)") }
  }
}
