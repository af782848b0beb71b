topic empty
title A timer far in the future keeps the mode alive
timer T delay=100000000
add T default
run default 0.04 no
valid T
--- golden
run default
ran default TIMEDOUT
valid T = yes
end
