topic nested
title A firing timer is invalidated from within its nested run
slow 2
trace callouts
timer T delay=20 interval=20 ctx
timer U delay=60
source0 K
on T: run m1 0.1 no; note back
on U: invalidate T; note invalidated
add T default; add U m1; add K m1
run default 1 no
valid T
--- golden
retain T
run default
retain T
timer T mode=default
run m1
timer U mode=m1
release T
note invalidated
ran m1 TIMEDOUT
note back
release T
ran default FINISHED
valid T = no
end
