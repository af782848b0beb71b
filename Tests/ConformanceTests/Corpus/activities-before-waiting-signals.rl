topic activities
title A source0 signalled in before-waiting, with a wake, is performed in the next pass
observer O all
source0 S
on O before-waiting #1: signal S; wake
add O default; add S default
run default 0.1 no
--- golden
run default
observer O entry mode=default
observer O before-timers mode=default
observer O before-sources mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
observer O before-timers mode=default
observer O before-sources mode=default
source0 S mode=default
observer O before-timers mode=default
observer O before-sources mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
observer O exit mode=default
ran default TIMEDOUT
end
