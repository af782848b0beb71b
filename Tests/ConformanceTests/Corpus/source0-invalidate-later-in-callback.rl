topic source0
title A source invalidated by an earlier one in the same pass is not performed; the pass then forgets that it handled one
flags linux-bug
observer O all
source0 A order=1
source0 B order=2
on A: invalidate B
add O default; add A default; add B default
signal A; signal B
run default 0.05 no
--- golden
run default
observer O entry mode=default
observer O before-timers mode=default
observer O before-sources mode=default
source0 A mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
observer O exit mode=default
ran default TIMEDOUT
end
--- right
run default
observer O entry mode=default
observer O before-timers mode=default
observer O before-sources mode=default
source0 A mode=default
observer O before-timers mode=default
observer O before-sources mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
observer O exit mode=default
ran default TIMEDOUT
end
