topic source0
title An unsignalled source is never performed
trace callouts
source0 S
timer T delay=20
add S default; add T default
run default 0.05 no
count S
--- golden
run default
timer T mode=default
ran default TIMEDOUT
count S = 0
end
