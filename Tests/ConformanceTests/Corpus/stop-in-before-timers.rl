topic stop
title stop in before-timers: the pass still goes through all its steps
observer O all
source0 S
on O before-timers #1: stop
add O default; add S default; signal S
run default 1 no
--- golden
run default
observer O entry mode=default
observer O before-timers mode=default
observer O before-sources mode=default
source0 S mode=default
observer O exit mode=default
ran default STOPPED
end
