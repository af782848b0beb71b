topic nested
title A timer callback runs another mode; only items of that mode are served
slow 2
trace callouts
timer T delay=30
timer U delay=60
source0 S
source0 K
on T: run m1 0.08 no
on S: note inner
add T default; add U default; add S m1; signal S
run default 2 no
--- golden
run default
timer T mode=default
run m1
source0 S mode=m1
note inner
ran m1 TIMEDOUT
timer U mode=default
ran default FINISHED
end
