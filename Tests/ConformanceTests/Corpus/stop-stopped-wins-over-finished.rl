topic stop
title stop in the last timer: STOPPED rather than FINISHED
trace callouts
timer T delay=20
on T: stop
add T default
run default 1 no
run default 1 no
--- golden
run default
timer T mode=default
ran default STOPPED
run default
ran default FINISHED
end
