topic timer
title isWaiting is false in a callback, and the mode is the running one
timer T delay=20
on T: waiting; mode; contains T default; valid T
add T default
run default 1 no
--- golden
run default
timer T mode=default
waiting = no
mode = default
contains T default = yes
valid T = yes
ran default FINISHED
end
