topic activities
title A block queued before the run runs after before-sources, before source0
observer O all
source0 S
block B
add O default; add S default; perform B default; signal S
run default 0.06 no
--- golden
run default
observer O entry mode=default
observer O before-timers mode=default
observer O before-sources mode=default
block B mode=default
source0 S mode=default
observer O before-timers mode=default
observer O before-sources mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
observer O exit mode=default
ran default TIMEDOUT
end
