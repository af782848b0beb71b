topic timer
title Repeating timer
flags timing
slow 2
trace callouts
timer T delay=60 interval=100 stamp
on T #3: stop
add T default
repeats T; interval T
run default 2 no
valid T; contains T default
--- golden
repeats T = yes
interval T = 100
run default
timer T mode=default at=50
timer T mode=default at=150
timer T mode=default at=250
ran default STOPPED
valid T = yes
contains T default = yes
end
