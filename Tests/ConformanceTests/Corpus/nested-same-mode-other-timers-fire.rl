topic nested
title Other timers of the mode fire in the nested run
slow 2
trace callouts
timer T delay=30
timer U delay=70
source0 K
on T: run default 0.1 no
add T default; add U default; add K default
run default 0.18 no
--- golden
run default
timer T mode=default
run default
timer U mode=default
ran default TIMEDOUT
ran default TIMEDOUT
end
