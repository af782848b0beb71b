topic timer
title Re-arming a one-shot timer in its own callback is in vain: it is invalidated after the callback
trace callouts
timer T delay=30
on T: setfire T 30
source0 K
add T default; add K default
run default 0.12 no
valid T; count T
--- golden
run default
timer T mode=default
ran default TIMEDOUT
valid T = no
count T = 1
end
