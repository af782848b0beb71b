topic timer
title During the callback the next date still is the date being fired
flags timing
slow 2
quantum 500
timer T delay=20 interval=5250
on T: firein T
add T default
run default 0.05 no
firein T
--- golden
run default
timer T mode=default
firein T = -500
ran default TIMEDOUT
firein T = 5000
end
