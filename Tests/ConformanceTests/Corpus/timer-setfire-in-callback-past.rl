topic timer
title A past date set inside the callback means now: it fires again in the next pass
slow 2
trace callouts
timer T delay=40 interval=1000
on T #1: setfire T -500
on T #2: stop
add T default
run default 2 no
--- golden
run default
timer T mode=default
timer T mode=default
ran default STOPPED
end
