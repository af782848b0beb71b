topic stop
title stop in before-waiting
observer O all
source0 S
on O before-waiting #1: stop
add O default; add S default
run default 1 no
--- golden
run default
observer O entry mode=default
observer O before-timers mode=default
observer O before-sources mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
observer O exit mode=default
ran default STOPPED
end
