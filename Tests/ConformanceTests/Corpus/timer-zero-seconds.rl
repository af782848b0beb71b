topic timer
title A poll fires due timers
trace callouts
timer T delay=20
add T default
run default 0 no
sleep 40
run default 0 no
run default 0 no
--- golden
run default
ran default TIMEDOUT
run default
timer T mode=default
ran default TIMEDOUT
run default
ran default FINISHED
end
