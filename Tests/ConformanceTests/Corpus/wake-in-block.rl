topic wake
title A wake in a block at the start of a pass makes one extra pass
observer O all
block B
source0 K
on B: wake
add O default; add K default; perform B default
run default 0.05 no
--- golden
run default
observer O entry mode=default
observer O before-timers mode=default
observer O before-sources mode=default
block B mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
observer O before-timers mode=default
observer O before-sources mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
observer O exit mode=default
ran default TIMEDOUT
end
