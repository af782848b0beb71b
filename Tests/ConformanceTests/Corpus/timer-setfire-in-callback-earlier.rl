topic timer
title A repeating timer re-armed sooner than its interval inside its callback
flags timing
slow 2
trace callouts
timer T delay=60 interval=200 stamp
on T #1: setfire T 100
on T #3: stop
add T default
run default 2 no
--- golden
run default
timer T mode=default at=50
timer T mode=default at=150
timer T mode=default at=350
ran default STOPPED
end
