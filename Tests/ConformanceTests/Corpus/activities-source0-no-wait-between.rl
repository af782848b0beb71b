topic activities
title A handled source0 turns the wait of that pass into a poll without waiting activities
observer O all
source0 S
on S #1: signal S
on S #2: signal S
add O default; add S default; signal S
run default 0.06 no
--- golden
run default
observer O entry mode=default
observer O before-timers mode=default
observer O before-sources mode=default
source0 S mode=default
observer O before-timers mode=default
observer O before-sources mode=default
source0 S mode=default
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
