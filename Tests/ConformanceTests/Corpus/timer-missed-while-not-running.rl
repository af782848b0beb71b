topic timer
title Fire dates missed while the loop did not run collapse into one late fire, then the phase is kept
flags timing
slow 2
trace callouts
timer T delay=60 interval=100 stamp
add T default
sleep 220
run default 0.19 no
count T
--- golden
run default
timer T mode=default at=200
timer T mode=default at=250
timer T mode=default at=350
ran default TIMEDOUT
count T = 3
end
