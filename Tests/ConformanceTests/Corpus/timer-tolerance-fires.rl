topic timer
title A timer with tolerance never fires before its date, and fires by date plus tolerance
flags timing
slow 2
quantum 100
trace callouts
timer T delay=110 tolerance=50 stamp
add T default
run default 1 no
--- golden
run default
timer T mode=default at=100
ran default FINISHED
end
