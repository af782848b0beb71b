topic timer
title Fire dates missed during a long callback are skipped; the phase is kept
flags timing
slow 2
trace callouts
timer T delay=60 interval=100 stamp
on T #1: busy 220
on T #3: stop
add T default
run default 2 no
--- golden
run default
timer T mode=default at=50
timer T mode=default at=350
timer T mode=default at=450
ran default STOPPED
end
