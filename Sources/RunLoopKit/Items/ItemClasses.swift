// Casts of an item to its class. `Item.Kind` says why they are right. Only debug builds check them, since every
// addition and removal of an item makes some. Code that runs rarely uses `as?`.

extension RunLoop.Item {
  /// For the kinds `.portSource`, `.descriptorSource`, `.eventSource` and `.connection`.
  final var asDescriptorItem: RunLoop.DescriptorItem { unsafeDowncast(self, to: RunLoop.DescriptorItem.self) }
  final var asTimer: RunLoop.Timer { unsafeDowncast(self, to: RunLoop.Timer.self) }
  final var asPort: RunLoop.Port { unsafeDowncast(self, to: RunLoop.Port.self) }
  final var asSource: RunLoop.Source { unsafeDowncast(self, to: RunLoop.Source.self) }
  final var asObserver: RunLoop.Observer { unsafeDowncast(self, to: RunLoop.Observer.self) }
}
