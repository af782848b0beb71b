topic wake
title A wake in after-waiting is ignored
slow 2
observer O all
source0 K
at 30: wake
on O after-waiting #1: wake
add O default; add K default
run default 0.08 no
--- golden
run default
observer O entry mode=default
observer O before-timers mode=default
observer O before-sources mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
observer O before-timers mode=default
observer O before-sources mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
observer O exit mode=default
ran default TIMEDOUT
end
