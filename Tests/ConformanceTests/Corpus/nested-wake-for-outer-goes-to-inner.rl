topic nested
title A wake while a nested run sleeps wakes the inner run
slow 2
observer O after-waiting
timer T delay=20
source0 K
at 60: note wake; wake
on T: run m1 0.1 no
add O m1; add T default; add K default; add K m1
run default 0.16 no
--- golden
run default
timer T mode=default
run m1
ext: note wake
observer O after-waiting mode=m1
observer O after-waiting mode=m1
ran m1 TIMEDOUT
ran default TIMEDOUT
end
