topic timer
title A repeating timer keeps its phase across runs
flags timing
slow 2
trace callouts
timer T delay=60 interval=100 stamp
on T: stop
add T default
run default 2 no
run default 2 no
run default 2 no
--- golden
run default
timer T mode=default at=50
ran default STOPPED
run default
timer T mode=default at=150
ran default STOPPED
run default
timer T mode=default at=250
ran default STOPPED
end
