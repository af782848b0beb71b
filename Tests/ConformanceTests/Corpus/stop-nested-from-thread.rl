topic stop
title stop from another thread reaches the innermost run only
slow 2
trace callouts
timer T delay=20
source0 K
at 60: note stop; stop
on T: run m1 2 no; note outer-continues
add T default; add K default; add K m1
run default 0.12 no
--- golden
run default
timer T mode=default
run m1
ext: note stop
ran m1 STOPPED
note outer-continues
ran default TIMEDOUT
end
