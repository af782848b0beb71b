// An item as an object of its class. Proof of the casts: `Item.Kind`. They are not checked, except in debug builds,
// because adding and removing an item makes them. Code that runs rarely uses `as?`.

extension RunLoop.Item {
  /// For the kinds `.portSource`, `.descriptorSource`, `.eventSource` and `.connection`.
  final var asDescriptorItem: RunLoop.DescriptorItem { unsafeDowncast(self, to: RunLoop.DescriptorItem.self) }
  final var asTimer: RunLoop.Timer { unsafeDowncast(self, to: RunLoop.Timer.self) }
  final var asPort: RunLoop.Port { unsafeDowncast(self, to: RunLoop.Port.self) }
  final var asSource: RunLoop.Source { unsafeDowncast(self, to: RunLoop.Source.self) }
  final var asObserver: RunLoop.Observer { unsafeDowncast(self, to: RunLoop.Observer.self) }
}
