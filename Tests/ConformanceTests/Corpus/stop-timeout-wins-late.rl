topic stop
title Stop in a callback that overran the limit: TIMEDOUT
trace callouts
timer T delay=20
source0 K
on T: busy 80; stop
add T default; add K default
run default 0.05 no
--- golden
run default
timer T mode=default
ran default TIMEDOUT
end
