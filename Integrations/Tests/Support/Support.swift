import Foundation
import Glibc

/// A value that threads share.
package final class Box<Value>: @unchecked Sendable {
  private let lock = NSLock()  // ThreadSanitizer knows it
  private var stored: Value

  package init(_ value: Value) { stored = value }

  package var value: Value {
    get { update { $0 } }
    set { update { $0 = newValue } }
  }

  package func update<Result>(_ body: (inout Value) -> Result) -> Result { lock.withLock { body(&stored) } }
}

/// What has happened, in order.
package final class Log: @unchecked Sendable {
  private let state = Box<(texts: [String], end: (count: Int, call: @Sendable () -> Void)?)>(([], nil))

  package init() {}

  package var value: [String] { state.value.texts }

  package func note(_ text: String) {
    let end = state.update { state -> (@Sendable () -> Void)? in
      state.texts.append(text)
      return state.texts.count == state.end?.count ? state.end?.call : nil
    }
    end?()
  }

  package func clear() { state.update { $0.texts = [] } }

  /// Called when so much has happened.
  package func at(_ count: Int, _ call: @escaping @Sendable () -> Void) { state.update { $0.end = (count, call) } }
}

/// A thread of its own, with a loop or without.
package final class OtherThread {
  private var id = pthread_t()

  package init(_ body: @escaping @Sendable () -> Void) {
    final class Start {
      let body: @Sendable () -> Void
      init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    let status = pthread_create(
      &id, nil,
      {
        Unmanaged<Start>.fromOpaque($0!).takeRetainedValue().body()
        return nil
      }, Unmanaged.passRetained(Start(body)).toOpaque())
    precondition(status == 0, "pthread_create: \(status)")
  }

  package func join() { pthread_join(id, nil) }
}

/// A thread that is waited for.
package func onOtherThread(_ body: @escaping @Sendable () -> Void) { OtherThread(body).join() }

/// Swift calls fork(2) unavailable, which a program with one of these tests must.
package func forkProcess() -> pid_t {
  typealias Fork = @convention(c) () -> pid_t
  return unsafeBitCast(dlsym(nil, "fork"), to: Fork.self)()
}
