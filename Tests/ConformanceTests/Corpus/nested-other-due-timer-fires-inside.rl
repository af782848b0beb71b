topic nested
title Of two timers due together, the first runs the loop: the second fires inside, and only there
slow 2
trace callouts
timer A delay=10
timer B delay=20
source0 K
on A: run default 0.05 no; note back
add A default; add B default; add K default
sleep 50
run default 0.1 no
count B
--- golden
run default
timer A mode=default
run default
timer B mode=default
ran default TIMEDOUT
note back
ran default TIMEDOUT
count B = 1
end
