// The closures of items. An item that is invalidated lets go of its closure, so that it is no constant; but a closure
// in a variable costs each call a count of references, since the compiler must fear that the call changes the variable.
// A struct that cannot be copied is borrowed for the call instead, and costs what a constant costs. What makes that
// true: no closure is exchanged while a callout of its item is on any stack (RunLoop/Removal.swift).

extension RunLoop.Item {
  /// The loop whose thread alone may release the closure; asked while the item is a member. Nil for most, and if that
  /// loop is not known any more: then the closure goes with the item, unless this is its thread.
  @inline(__always)
  final var closureOwner: RunLoop? { onlyHost == nil ? nil : withLinks { $0.first?.host } }
}
