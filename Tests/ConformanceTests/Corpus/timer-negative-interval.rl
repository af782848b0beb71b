topic timer
title A negative interval means one-shot
slow 2
trace callouts
timer T delay=20 interval=-50
source0 K
add T default; add K default
repeats T; interval T
run default 0.1 no
valid T; count T
--- golden
repeats T = no
interval T = 0
run default
timer T mode=default
ran default TIMEDOUT
valid T = no
count T = 1
end
