topic pattern
title A slow callback does not shift the schedule
flags timing
slow 2
trace callouts
timer T delay=60 interval=100 stamp
on T: busy 30
on T #4: stop
add T default
run default 2 no
--- golden
run default
timer T mode=default at=50
timer T mode=default at=150
timer T mode=default at=250
timer T mode=default at=350
ran default STOPPED
end
