topic timer
title A repeating timer invalidates itself
slow 2
trace callouts
timer T delay=30 interval=40
on T #2: invalidate T
add T default
run default 2 no
valid T
--- golden
run default
timer T mode=default
timer T mode=default
ran default FINISHED
valid T = no
end
