topic nested
title A timer of the outer mode that comes due during a nested run of another mode fires afterwards
slow 2
trace callouts
timer T delay=30
timer U delay=60
source0 K
on T: run m1 0.1 no; note back
add T default; add U default; add K m1
run default 1 no
--- golden
run default
timer T mode=default
run m1
ran m1 TIMEDOUT
note back
timer U mode=default
ran default FINISHED
end
