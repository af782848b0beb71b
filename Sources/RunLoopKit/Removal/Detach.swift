extension RunLoop {
  /// Removes an invalid item from all modes of this loop and from the common record (rule 54). No thread can add it
  /// meanwhile, since it is invalid. The caller retains it.
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

  /// Removes an item that was invalidated while it entered its modes. The loop's run may have counted the item when the
  /// invalidating thread woke it, so this causes another pass. If the mode is empty now, that pass ends the run.
  @inline(never)
  func detachLate(_ item: Item) {
    detach(item)
    interrupt()
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
