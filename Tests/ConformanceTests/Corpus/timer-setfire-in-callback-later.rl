topic timer
title A repeating timer re-armed later inside its callback: the new date is used, the interval counts from it
flags timing
slow 2
trace callouts
timer T delay=60 interval=50 stamp
on T #1: setfire T 150
on T #3: stop
add T default
run default 2 no
--- golden
run default
timer T mode=default at=50
timer T mode=default at=200
timer T mode=default at=250
ran default STOPPED
end
