topic timer
title The past fire date is still what the timer reports until it fired
flags timing
slow 2
quantum 500
timer T delay=-5750 interval=100000
add T default
firein T; nextfire default
run default 0 no
firein T
--- golden
firein T = -6000
nextfire default = -6000
run default
timer T mode=default
ran default TIMEDOUT
firein T = 99500
end
