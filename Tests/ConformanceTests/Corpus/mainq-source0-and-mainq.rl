topic mainq
title source0 first, then the main queue
thread main:
block M
source0 S
observer O all
add O default; add S default; signal S; async M
run default 0.06 no
--- golden
run default
observer O entry mode=default
observer O before-timers mode=default
observer O before-sources mode=default
source0 S mode=default
mainq M mode=default
observer O before-timers mode=default
observer O before-sources mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
observer O exit mode=default
ran default TIMEDOUT
end
