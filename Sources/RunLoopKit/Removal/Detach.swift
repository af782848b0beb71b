extension RunLoop {
  /// Rule 54: takes the item out of all modes and out of the common record. It is invalid already: no thread can add it
  /// meanwhile. The caller holds it.
  func detach(_ item: Item) {
    guard isUsable, isOfThisProcess(item) else { return }
    lock.lock()
    if let (mode, token) = item.unlinkOnly(of: self) {
      mode.unregister(item, token: token, on: self)
      let name = item.hooks == nil ? nil : mode.name
      lock.unlock()
      if let name { item.hooks?.left(name, of: self) }
    } else {
      let cancelled = detachFromAll(item)
      lock.unlock()
      if let hooks = item.hooks { for mode in cancelled { hooks.left(mode, of: self) } }
    }
  }

  private func detachFromAll(_ item: Item) -> [Mode] {
    let links = item.unlinkAll(of: self)
    links.forEach { link in
      if let mode = link.mode {
        mode.unregister(item, token: link.token, on: self)
      } else {
        state.commonItems.forget(item, of: self)
      }
    }
    return state.names(of: links)
  }
}
