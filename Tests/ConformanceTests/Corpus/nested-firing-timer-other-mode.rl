topic nested
title A firing timer is silent in a nested run of another mode it belongs to
slow 2
trace callouts
timer T delay=20 interval=40
source0 K
on T #1: run m1 0.1 no; note back
on T #2: stop
add T default; add T m1; add K m1
run default 2 no
--- golden
run default
timer T mode=default
run m1
ran m1 TIMEDOUT
note back
timer T mode=default
ran default STOPPED
end
