topic timer
title Moving the next fire date later
flags timing
slow 2
trace callouts
timer T delay=40 stamp
add T default
setfire T 120
run default 1 no
--- golden
run default
timer T mode=default at=100
ran default FINISHED
end
