topic timer
title Several due timers: equal and unequal dates give a stable order over runs
slow 2
trace callouts
timer A delay=10 interval=1000
timer B delay=20 interval=1000
timer C delay=30 interval=1000
add C default; add A default; add B default
sleep 60
run default 0 no
--- golden
run default
timer A mode=default
timer B mode=default
timer C mode=default
ran default TIMEDOUT
end
