topic nested
title ... and should not wake that nested run either
flags linux-bug
slow 2
observer O before-waiting|after-waiting
timer T delay=20 interval=1000
source0 K
on T #1: run m1 0.05 no; note back
add O m1; add T default; add T m1; add K m1; add K default
run default 0.1 no
--- golden
run default
timer T mode=default
run m1
observer O before-waiting mode=m1
observer O after-waiting mode=m1
observer O before-waiting mode=m1
observer O after-waiting mode=m1
ran m1 TIMEDOUT
note back
ran default TIMEDOUT
end
--- right
run default
timer T mode=default
run m1
observer O before-waiting mode=m1
observer O after-waiting mode=m1
ran m1 TIMEDOUT
note back
ran default TIMEDOUT
end
