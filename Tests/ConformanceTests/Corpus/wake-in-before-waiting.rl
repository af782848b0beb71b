topic wake
title A wake in before-waiting ends that wait at once
observer O all
source0 K
on O before-waiting #1: wake
add O default; add K default
run default 0.05 no
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
