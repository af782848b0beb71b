topic timer
title Zero delay
trace callouts
timer T delay=0
add T default
run default 1 no
--- golden
run default
timer T mode=default
ran default FINISHED
end
