topic activities
title A block queued in before-timers runs in the same pass
observer O all
source0 S
block B
on O before-timers #1: perform B default
add O default; add S default
run default 0.05 no
--- golden
run default
observer O entry mode=default
observer O before-timers mode=default
observer O before-sources mode=default
block B mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
observer O exit mode=default
ran default TIMEDOUT
end
