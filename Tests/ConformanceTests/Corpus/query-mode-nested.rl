topic query
title The current mode at each level
timer T delay=20
source0 S
on T: mode; signal S; run m1 0.5 yes; mode
on S: mode
add T default; add S m1
mode
run default 1 no
mode
--- golden
mode = none
run default
timer T mode=default
mode = default
run m1
source0 S mode=m1
mode = m1
ran m1 HANDLED
mode = default
ran default FINISHED
mode = none
end
