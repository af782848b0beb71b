topic timer
title A timer added by another thread to a sleeping loop fires on time
flags timing
slow 2
trace callouts
timer T delay=110 stamp
source0 K
at 30: add T default
on T: stop
add K default
run default 2 no
--- golden
run default
timer T mode=default at=100
ran default STOPPED
end
