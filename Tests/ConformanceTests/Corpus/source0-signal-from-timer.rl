topic source0
title Timer callback signals a source; performed in the next pass without another wake
observer O before-waiting|after-waiting
timer T delay=40
source0 S
on T: signal S
add O default; add T default; add S default
run default 0.08 no
--- golden
run default
observer O before-waiting mode=default
observer O after-waiting mode=default
timer T mode=default
source0 S mode=default
observer O before-waiting mode=default
observer O after-waiting mode=default
ran default TIMEDOUT
end
