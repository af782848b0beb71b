topic nested
title The current mode is restored after a nested run
trace callouts
timer T delay=20
source0 K
on T: mode; run m1 0.02 no; mode
on K: mode
add T default; add K m1; signal K
run default 1 no
mode
--- golden
run default
timer T mode=default
mode = default
run m1
source0 K mode=m1
mode = m1
ran m1 TIMEDOUT
mode = default
ran default FINISHED
mode = none
end
