topic nested
title The firing one-shot still keeps the mode alive for the nested run
trace callouts
timer T delay=20
on T: run default 0.04 no
add T default
run default 1 no
--- golden
run default
timer T mode=default
run default
ran default TIMEDOUT
ran default FINISHED
end
