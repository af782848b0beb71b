topic activities
title A source0 signalled in before-sources is performed in the same pass
observer O all
source0 S
on O before-sources #1: signal S
add O default; add S default
run default 0.05 no
--- golden
run default
observer O entry mode=default
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
