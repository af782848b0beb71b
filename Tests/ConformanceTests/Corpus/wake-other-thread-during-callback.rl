topic wake
title A wake during a timer callback is not remembered as a pass of its own
slow 2
observer O before-timers|before-waiting|after-waiting
timer T delay=30
source0 K
at 90: wake
on T: busy 130
add O default; add T default; add K default
run default 0.26 no
--- golden
run default
observer O before-timers mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
timer T mode=default
observer O before-timers mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
ran default TIMEDOUT
end
