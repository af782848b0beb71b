// This module calls user code only in this file. Items/Callouts.swift in RunLoopKit explains the names and the results.

import RunLoopKit

@inline(never)
func __RUNLOOPKIT_IS_CALLING_OUT_TO_A_PEER_POLICY__(
  _ judge: @Sendable (RunLoop.Message.Sender) -> Bool, _ peer: RunLoop.Message.Sender
) -> Bool {
  let isWelcome = judge(peer)
  return isWelcome
}

@inline(never)
func __RUNLOOPKIT_IS_CALLING_OUT_TO_A_REFUSAL_HOOK__(
  _ body: @Sendable (RunLoop.Refusal) -> Void, _ refusal: RunLoop.Refusal
) -> Bool {
  body(refusal)
  return true
}

@inline(never)
func __RUNLOOPKIT_IS_CALLING_OUT_TO_A_NAME_LOSS_OBSERVER__(
  _ body: @Sendable (RunLoop.Port) -> Void, _ port: RunLoop.Port
) -> Bool {
  body(port)
  return true
}
