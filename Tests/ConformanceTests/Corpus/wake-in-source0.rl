topic wake
title A wake in a source0 callback is consumed by the poll of that pass
observer O all
source0 S
on S: wake
add O default; add S default; signal S
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
